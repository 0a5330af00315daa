//! Our keys on Solana that pay fees, and how many transactions of each are in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::chain::FeePayers;
use purser_protocol::payment::solana::address::Pubkey;

/// Chooses the fee payer with the fewest transactions in flight.
#[derive(Debug)]
pub struct FeePayerLoads {
    keys: Arc<[Pubkey]>,
    /// One counter per key.
    in_flight: Vec<AtomicUsize>,
}

/// A transaction of a fee payer that is in flight until this is dropped.
#[derive(Debug)]
pub struct InFlightGuard<'a>(Option<&'a AtomicUsize>);

impl FeePayerLoads {
    /// Requires at least one key; the preferred one is first.
    pub fn new(first: Pubkey, others: &[Pubkey]) -> Self {
        let keys: Arc<[Pubkey]> = [&[first], others].concat().into();
        let in_flight = keys.iter().map(|_| AtomicUsize::new(0)).collect();
        Self { keys, in_flight }
    }

    /// Counts a transaction of this key. External keys are not counted.
    pub fn track_in_flight(&self, key: Option<&Pubkey>) -> InFlightGuard<'_> {
        let index = key.and_then(|key| self.keys.iter().position(|own| own == key));
        let count = index.and_then(|index| self.in_flight.get(index));
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
        InFlightGuard(count)
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        if let Some(count) = self.0 {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl FeePayers for FeePayerLoads {
    fn all(&self) -> Arc<[Pubkey]> {
        self.keys.clone()
    }

    fn choose(&self) -> Option<Pubkey> {
        let busy = self.in_flight.iter().map(|count| count.load(Ordering::Relaxed));
        let least = self.keys.iter().zip(busy).min_by_key(|(_, busy)| *busy);
        least.map(|(key, _)| *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the least busy key is chosen, and of equals the first. Transactions that have ended no longer count;
    // external keys never do.
    #[test]
    fn the_fee_payer_with_the_fewest_in_flight_is_chosen() {
        let (one, two) = ([1; 32], [2; 32]);
        let loads = FeePayerLoads::new(one, &[two]);
        assert_eq!((&*loads.all(), loads.choose()), (&[one, two][..], Some(one)));
        let first = loads.track_in_flight(Some(&one));
        assert_eq!(loads.choose(), Some(two));
        let second = loads.track_in_flight(Some(&two));
        let third = loads.track_in_flight(Some(&two));
        assert_eq!(loads.choose(), Some(one));
        let strangers = (loads.track_in_flight(Some(&[3; 32])), loads.track_in_flight(None));
        drop((second, third));
        assert_eq!(loads.choose(), Some(two));
        drop((first, strangers));
        assert_eq!(loads.choose(), Some(one));
    }
}

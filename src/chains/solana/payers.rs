//! Fee payers: selection for a payment, balances and reservations. No I/O.

use super::address::{Pubkey, base58};
use super::fees::{DEFAULT_PRIORITY_FEE_CAP, Fees};

/// Limits of the fee payers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayerLimits {
    /// Minimum balance of a fee payer in lamports: below it, the fee payer is not chosen. Must cover the rent of an
    /// empty account (890,880).
    pub floor_lamports: u64,
    /// Maximum priority fee of one payment in lamports.
    pub priority_fee_cap: u64,
}

impl Default for PayerLimits {
    fn default() -> Self {
        Self {
            floor_lamports: 10_000_000,
            priority_fee_cap: DEFAULT_PRIORITY_FEE_CAP,
        }
    }
}

/// Why a payment gets no fee payer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayerError {
    /// The transaction's fee payer is not configured.
    #[error("the fee payer is not one of the service's")]
    Unknown,
    /// The priority fee is above the cap.
    #[error("the priority fee of {lamports} lamports is above the cap of {cap}")]
    PriorityFee {
        /// Priority fee of the transaction in lamports.
        lamports: u64,
        /// The cap in lamports.
        cap: u64,
    },
    /// The fee payer would fall below its floor.
    #[error("the fee payer's balance is too low")]
    Balance,
}

/// One fee payer, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PayerStatus {
    /// Address of the fee payer.
    pub address: Pubkey,
    /// Last known balance in lamports; `None` until it was read.
    pub lamports: Option<u64>,
    /// Lamports that transactions in flight may cost.
    pub reserved: u64,
    /// Number of transactions in flight.
    pub in_flight: usize,
    /// Lamports of base and priority fees charged since the start.
    pub spent: u64,
    /// The part of `spent` that failed transactions cost.
    pub lost: u64,
    /// Whether the fee payer may be chosen.
    pub usable: bool,
}

#[derive(Clone, Debug, Default)]
struct Payer {
    address: Pubkey,
    lamports: Option<u64>,
    reserved: u64,
    in_flight: usize,
    spent: u64,
    lost: u64,
}

impl Payer {
    fn has(&self, lamports: u64, limits: &PayerLimits) -> bool {
        let needed = limits
            .floor_lamports
            .saturating_add(self.reserved)
            .saturating_add(lamports);
        self.lamports.is_some_and(|balance| balance >= needed)
    }
}

/// The maximum cost of a transaction in flight. Not `Clone`: it is settled once.
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a reservation is ended by `Payers::end`"]
pub struct FeeReservation {
    /// The fee payer of the transaction.
    pub payer: Pubkey,
    /// The fees that may be charged.
    pub fees: Fees,
}

/// The outcome of a transaction for its fee payer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeeOutcome {
    /// Executed with its effects.
    Spent,
    /// Executed without its effects: the fee is lost.
    Lost,
    /// Never executed: no fee.
    Unused,
}

/// All configured fee payers.
#[derive(Clone, Debug)]
pub struct Payers {
    payers: Vec<Payer>,
    limits: PayerLimits,
    next: usize,
}

impl Payers {
    /// Creates the list of fee payers; duplicates count once. Their balances are unknown, so none is chosen yet.
    pub fn new(addresses: &[Pubkey], limits: PayerLimits) -> Self {
        let mut payers: Vec<Payer> = Vec::with_capacity(addresses.len());
        for address in addresses {
            if payers.iter().all(|payer| payer.address != *address) {
                payers.push(Payer {
                    address: *address,
                    ..Payer::default()
                });
            }
        }
        Self {
            payers,
            limits,
            next: 0,
        }
    }

    /// Whether an address is one of the fee payers.
    pub fn contains(&self, address: &Pubkey) -> bool {
        self.payers.iter().any(|payer| payer.address == *address)
    }

    /// Records a balance that was read from the chain.
    pub fn set_balance(&mut self, address: &Pubkey, lamports: u64) {
        if let Some(payer) = self.payer(address) {
            payer.lamports = Some(lamports);
        }
    }

    /// The fee payer for a challenge: the usable one with the fewest transactions in flight, in turn among equals.
    /// `None` if each one is below its floor or its balance is unknown.
    pub fn choose(&mut self) -> Option<Pubkey> {
        let count = self.payers.len();
        let (limits, next) = (self.limits, self.next);
        let chosen = (0..count)
            .map(|step| (next + step) % count)
            .filter(|index| self.payers[*index].has(0, &limits))
            // `min_by_key` returns the first of equals, which is the next in turn.
            .min_by_key(|index| self.payers[*index].in_flight)?;
        self.next = (chosen + 1) % count;
        Some(self.payers[chosen].address)
    }

    /// Checks the fees of a payment and reserves them until [`Self::settle`].
    ///
    /// # Errors
    /// See [`PayerError`]. Nothing is reserved then.
    pub fn reserve(&mut self, address: &Pubkey, fees: Fees) -> Result<FeeReservation, PayerError> {
        let limits = self.limits;
        let payer = self.payer(address).ok_or(PayerError::Unknown)?;
        if fees.priority > limits.priority_fee_cap {
            return Err(PayerError::PriorityFee {
                lamports: fees.priority,
                cap: limits.priority_fee_cap,
            });
        }
        if !payer.has(fees.at_most(), &limits) {
            return Err(PayerError::Balance);
        }
        self.resume(address, fees)
    }

    /// Reserves the fees of a transaction that an earlier run of the service may have sent, without checking them.
    ///
    /// # Errors
    /// [`PayerError::Unknown`].
    pub fn resume(&mut self, address: &Pubkey, fees: Fees) -> Result<FeeReservation, PayerError> {
        let payer = self.payer(address).ok_or(PayerError::Unknown)?;
        payer.reserved = payer.reserved.saturating_add(fees.at_most());
        payer.in_flight += 1;
        Ok(FeeReservation { payer: *address, fees })
    }

    /// Settles a reservation. The known balance is reduced by the possible charge until it is read again.
    pub fn settle(&mut self, reservation: FeeReservation, outcome: FeeOutcome) {
        let FeeReservation { payer, fees } = reservation;
        let Some(payer) = self.payer(&payer) else {
            return;
        };
        payer.reserved = payer.reserved.saturating_sub(fees.at_most());
        payer.in_flight = payer.in_flight.saturating_sub(1);
        let (fee, lost, balance) = match outcome {
            FeeOutcome::Unused => (0, 0, 0),
            FeeOutcome::Spent => (fees.charged(), 0, fees.at_most()),
            FeeOutcome::Lost => (fees.charged(), fees.charged(), fees.charged()),
        };
        payer.spent = payer.spent.saturating_add(fee);
        payer.lost = payer.lost.saturating_add(lost);
        payer.lamports = payer.lamports.map(|lamports| lamports.saturating_sub(balance));
    }

    /// Status of every fee payer.
    pub fn status(&self) -> Vec<PayerStatus> {
        let status = |payer: &Payer| PayerStatus {
            address: payer.address,
            lamports: payer.lamports,
            reserved: payer.reserved,
            in_flight: payer.in_flight,
            spent: payer.spent,
            lost: payer.lost,
            usable: payer.has(0, &self.limits),
        };
        self.payers.iter().map(status).collect()
    }

    /// Addresses of fee payers below their floor, for an alarm.
    pub fn below_floor(&self) -> Vec<String> {
        let poor = self.payers.iter().filter(|payer| !payer.has(0, &self.limits));
        poor.map(|payer| base58(&payer.address)).collect()
    }

    fn payer(&mut self, address: &Pubkey) -> Option<&mut Payer> {
        self.payers.iter_mut().find(|payer| payer.address == *address)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;

    const LIMITS: PayerLimits = PayerLimits {
        floor_lamports: 1_000,
        priority_fee_cap: 20_000,
    };

    const FEES: Fees = Fees {
        base: 10_000,
        priority: 1,
        rent: 0,
    };

    fn key(byte: u8) -> Pubkey {
        [byte; 32]
    }

    fn payers(balances: &[u64]) -> Payers {
        let keys: Vec<Pubkey> = (1..=balances.len() as u8).map(key).collect();
        let mut payers = Payers::new(&keys, LIMITS);
        for (key, lamports) in keys.iter().zip(balances) {
            payers.set_balance(key, *lamports);
        }
        payers
    }

    #[test]
    fn the_fewest_in_flight_is_chosen_and_equals_take_turns() {
        let mut payers = payers(&[1_000_000; 3]);
        let turns: Vec<_> = (0..4).map(|_| payers.choose().unwrap()[0]).collect();
        assert_eq!(turns, [1, 2, 3, 1]);
        let second = payers.reserve(&key(2), FEES).unwrap();
        let third = payers.reserve(&key(3), FEES).unwrap();
        assert_eq!([payers.choose(), payers.choose()], [Some(key(1)); 2]);
        payers.settle(third, FeeOutcome::Spent);
        assert_eq!([payers.choose(), payers.choose()], [Some(key(3)), Some(key(1))]);
        payers.settle(second, FeeOutcome::Unused);
        let status = payers.status();
        assert_eq!(status[1].lamports, Some(1_000_000));
        assert_eq!(
            (status[2].lamports, status[2].spent, status[2].lost),
            (Some(989_999), 10_001, 0)
        );
        assert!(status.iter().all(|payer| payer.in_flight == 0 && payer.reserved == 0));
    }

    #[test]
    fn a_payer_below_its_floor_is_not_used() {
        let mut payers = payers(&[999, 11_001]);
        assert_eq!([payers.choose(), payers.choose()], [Some(key(2)); 2]);
        assert_eq!(payers.reserve(&key(1), FEES), Err(PayerError::Balance));
        let reserved = payers.reserve(&key(2), FEES).unwrap();
        // Transactions in flight may be charged, so their cost cannot be reserved twice.
        assert_eq!(payers.reserve(&key(2), FEES), Err(PayerError::Balance));
        payers.settle(reserved, FeeOutcome::Lost);
        assert_eq!(payers.status()[1].lost, 10_001);
        assert_eq!(payers.reserve(&key(2), FEES), Err(PayerError::Balance));
        payers.set_balance(&key(2), 0);
        assert_eq!(payers.choose(), None);
        assert_eq!(payers.below_floor(), [base58(&key(1)), base58(&key(2))]);
        assert_eq!(
            Payers::new(&[key(1), key(1)], LIMITS).choose(),
            None,
            "a balance that was never read"
        );
        assert_eq!(Payers::new(&[], LIMITS).choose(), None);
    }

    #[test]
    fn rent_is_reserved_and_charged_only_on_success() {
        let fees = Fees { rent: 500, ..FEES };
        let mut payers = payers(&[1_000 + 10_501]);
        let reservation = payers.reserve(&key(1), fees).unwrap();
        assert_eq!(payers.status()[0].reserved, 10_501);
        payers.settle(reservation, FeeOutcome::Lost);
        let status = payers.status()[0];
        assert_eq!(
            (status.lamports, status.spent, status.lost),
            (Some(1_500), 10_001, 10_001)
        );
        payers.set_balance(&key(1), 11_500);
        assert_eq!(payers.reserve(&key(1), fees), Err(PayerError::Balance));
        payers.set_balance(&key(1), 20_000);
        let reservation = payers.reserve(&key(1), fees).unwrap();
        payers.settle(reservation, FeeOutcome::Spent);
        let status = payers.status()[0];
        assert_eq!(
            (status.lamports, status.spent, status.lost),
            (Some(9_499), 20_002, 10_001)
        );
    }

    #[test]
    fn what_may_have_been_sent_is_reserved_again() {
        let mut payers = payers(&[1_000]);
        let above = Fees {
            priority: 30_000,
            ..FEES
        };
        let reservation = payers.resume(&key(1), above).unwrap();
        let status = payers.status()[0];
        assert_eq!((status.in_flight, status.reserved, status.usable), (1, 40_000, false));
        payers.settle(reservation, FeeOutcome::Unused);
        assert!(payers.status()[0].usable);
        assert_eq!(payers.resume(&key(9), above), Err(PayerError::Unknown));
    }

    #[test]
    fn fees_are_capped() {
        let mut payers = payers(&[10_000_000]);
        let fees = |priority| Fees { priority, ..FEES };
        assert!(payers.reserve(&key(1), fees(20_000)).is_ok());
        let above = PayerError::PriorityFee {
            lamports: 20_001,
            cap: 20_000,
        };
        assert_eq!(payers.reserve(&key(1), fees(20_001)), Err(above));
        assert_eq!(payers.reserve(&key(2), fees(1)), Err(PayerError::Unknown));
        let endless = PayerError::PriorityFee {
            lamports: u64::MAX,
            cap: 20_000,
        };
        assert_eq!(payers.reserve(&key(1), fees(u64::MAX)), Err(endless));
    }
}

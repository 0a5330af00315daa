//! Room for paid calls: how many may be in flight, in all and of one account.

use tokio::sync::OwnedSemaphorePermit;

use super::Engine;
use super::figures::Lack;
use crate::id::Wallet;

/// Room for one paid call, taken before the claim and kept until the payment has come to something.
#[derive(Debug)]
pub struct Permit {
    room: OwnedSemaphorePermit,
    _share: PayerShare,
}

impl Permit {
    /// The place is never given back: a fault that tests plant.
    pub(super) fn leak(self) {
        self.room.forget();
    }
}

/// Counts one account's calls in flight; gives its place back when dropped.
struct PayerShare {
    engine: Engine,
    payer: u128,
}

impl std::fmt::Debug for PayerShare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PayerShare({:032x})", self.payer)
    }
}

impl Drop for PayerShare {
    fn drop(&mut self) {
        self.engine.0.payers.remove_if_mut(&self.payer, |_, n| {
            *n -= 1;
            *n == 0
        });
    }
}

/// Nothing was claimed; come back later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overloaded {
    /// In seconds.
    pub retry_after_s: u64,
}

impl Engine {
    /// Takes room for one paid call of an account.
    ///
    /// # Errors
    /// [`Overloaded`] when the engine, the account's share or the journal's room is full.
    pub fn admit(&self, account: &Wallet) -> Result<Permit, Overloaded> {
        let full = |lack| {
            self.0.refused.note(lack);
            Overloaded { retry_after_s: 1 }
        };
        let headroom = self.0.store.headroom();
        if headroom.lag_bytes >= headroom.lag_limit_bytes {
            return Err(full(Lack::Lag));
        }
        if !self.is_sound() {
            return Err(full(Lack::Unsound));
        }
        let room = self.0.permits.clone().try_acquire_owned();
        let room = room.map_err(|_| full(Lack::Room))?;
        let payer = account.digest();
        {
            let mut n = self.0.payers.entry(payer).or_insert(0);
            if *n >= self.0.settings.in_flight_per_payer_max {
                return Err(full(Lack::Share));
            }
            *n += 1;
        }
        Ok(Permit {
            room,
            _share: PayerShare {
                engine: self.clone(),
                payer,
            },
        })
    }
}

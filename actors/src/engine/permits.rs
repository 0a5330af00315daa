//! Permits of paid calls: the number in flight is limited, in total and for each account.

use tokio::sync::OwnedSemaphorePermit;

use super::Engine;
use super::stats::OverloadReason;
use crate::id::Wallet;

/// Permit of one paid call, taken before the claim and held until the outcome of the payment is known.
#[derive(Debug)]
pub struct AdmissionPermit {
    permit: OwnedSemaphorePermit,
    _payer_permit: PayerPermit,
}

impl AdmissionPermit {
    /// Never releases it: a mutant that tests must detect.
    pub(super) fn leak(self) {
        self.permit.forget();
    }
}

/// Counts one account's calls in flight, and one less when dropped.
struct PayerPermit {
    engine: Engine,
    payer: Wallet,
}

impl std::fmt::Debug for PayerPermit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PayerPermit")
    }
}

impl Drop for PayerPermit {
    fn drop(&mut self) {
        self.engine.0.payers.remove_if_mut(&self.payer, |_, n| {
            *n -= 1;
            *n == 0
        });
    }
}

/// Nothing was claimed; come back later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverloadError {
    /// When to retry, in seconds.
    pub retry_after_s: u64,
}

impl Engine {
    /// Takes a permit for one paid call of an account.
    ///
    /// # Errors
    /// [`OverloadError`] at the limit of the engine, the account or the journal.
    pub fn admit(&self, account: &Wallet) -> Result<AdmissionPermit, OverloadError> {
        let full = |lack| {
            self.0.overloads.record(lack);
            OverloadError { retry_after_s: 1 }
        };
        let headroom = self.0.store.headroom();
        if headroom.lag_bytes >= headroom.lag_limit_bytes {
            return Err(full(OverloadReason::JournalLag));
        }
        if !self.is_healthy() {
            return Err(full(OverloadReason::Unhealthy));
        }
        let permit = self.0.permits.clone().try_acquire_owned();
        let permit = permit.map_err(|_| full(OverloadReason::Capacity))?;
        let payer = *account;
        {
            let mut n = self.0.payers.entry(payer).or_insert(0);
            if *n >= self.0.settings.max_in_flight_per_payer {
                return Err(full(OverloadReason::PayerLimit));
            }
            *n += 1;
        }
        Ok(AdmissionPermit {
            permit,
            _payer_permit: PayerPermit {
                engine: self.clone(),
                payer,
            },
        })
    }
}

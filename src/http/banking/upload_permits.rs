//! Limits the uploads in progress, because each has its whole body in memory.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::id::Wallet;

use super::super::error::{ApiError, ErrorCode};

/// Uploads in progress. One needs up to 35 MB: the request and the decoded document.
const MAX_UPLOADS: usize = 6;
const MAX_UPLOADS_PER_ACCOUNT: usize = 2;

/// Uploads in progress by account.
#[derive(Default)]
pub struct UploadPermits(Mutex<BTreeMap<Wallet, usize>>);

impl UploadPermits {
    /// Takes a permit for one upload, held until it is dropped.
    ///
    /// # Errors
    /// 503 `overloaded` at the limit of the account or of all accounts.
    pub(super) fn acquire(self: &Arc<Self>, account: Wallet) -> Result<UploadPermit, ApiError> {
        let mut uploads = self.0.lock();
        let (own, all) = (
            uploads.get(&account).copied().unwrap_or_default(),
            uploads.values().sum::<usize>(),
        );
        if own >= MAX_UPLOADS_PER_ACCOUNT || all >= MAX_UPLOADS {
            let error = "Too many documents are being uploaded now.";
            return Err(ApiError::unavailable(ErrorCode::Overloaded, error, 2).hint("Nothing was stored. Try again."));
        }
        uploads.insert(account, own + 1);
        Ok(UploadPermit {
            permits: self.clone(),
            account,
        })
    }
}

/// Permit of one upload.
pub(super) struct UploadPermit {
    permits: Arc<UploadPermits>,
    account: Wallet,
}

impl Drop for UploadPermit {
    fn drop(&mut self) {
        let mut uploads = self.permits.0.lock();
        let left = uploads.get(&self.account).map_or(0, |own| own - 1);
        if left == 0 {
            uploads.remove(&self.account);
        } else {
            uploads.insert(self.account, left);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    // Checks: at most two uploads of an account and six in all, and a permit that is dropped can be taken again.
    #[test]
    fn uploads_in_progress_are_limited() {
        let permits = Arc::new(UploadPermits::default());
        let account = |number: u8| Wallet::Evm([number; 20]);
        let mut held: Vec<_> = [1, 1, 2, 2, 3]
            .map(|number| permits.acquire(account(number)).unwrap())
            .into();
        assert!(permits.acquire(account(1)).is_err());
        held.push(permits.acquire(account(4)).unwrap());
        assert!(permits.acquire(account(5)).is_err());
        held.remove(0);
        held.push(permits.acquire(account(5)).unwrap());
        held.clear();
        assert!(permits.0.lock().is_empty());
        assert!(permits.acquire(account(1)).is_ok());
    }
}

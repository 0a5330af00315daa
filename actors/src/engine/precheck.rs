//! The chain's check of a payment before its claim.

use super::Engine;
use super::payments::{ClaimError, PaymentRequest};
use super::preconditions::map_account_rejection;
use crate::entity::account;
use crate::id::Wallet;

impl Engine {
    /// A payment that the chain would decline is not claimed. A frozen account and its caps come first in the
    /// contract's order of errors, so both are checked before the decline is returned. `is_counted`: the caps include
    /// this payment already.
    pub(super) async fn precheck(
        &self,
        account: &Wallet,
        request: &PaymentRequest,
        is_counted: bool,
    ) -> Result<(), ClaimError> {
        let Some(decline) = self.0.ports.settlement.precheck(&request.authorization).await else {
            return Ok(());
        };
        let known = self.account(account).await.map_err(|_| ClaimError::Unavailable)?;
        let line = request.purchase.line();
        let cap = match is_counted {
            true => None,
            false => self.0.settings.caps.for_line(line),
        };
        let now = self.0.clock.now();
        account::may_claim(known.as_ref(), line, request.worth, cap, now).map_err(map_account_rejection)?;
        Err(ClaimError::Declined(decline))
    }
}

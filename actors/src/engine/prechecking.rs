//! What the chain is asked of a payment before it is claimed.

use super::Engine;
use super::paying::{PayError, PayRequest};
use super::requiring::rejected;
use crate::account;
use crate::id::Wallet;

impl Engine {
    /// A payment that the chain would refuse claims nothing. For what only the account knows it is refused first, as its claim
    /// would be: the chain's word is the last in the order of refusals. `is_counted`: its share of the caps was taken before.
    pub(super) async fn precheck(
        &self,
        account: &Wallet,
        request: &PayRequest,
        is_counted: bool,
    ) -> Result<(), PayError> {
        let Some(decline) = self.0.ports.settlement.precheck(&request.authorization).await else {
            return Ok(());
        };
        let known = self.account(account).await.map_err(|_| PayError::Unavailable)?;
        let line = request.purchase.line();
        let cap = match is_counted {
            true => None,
            false => self.0.settings.caps.of(line),
        };
        let now = self.0.clock.now();
        account::may_claim(known.as_ref(), line, request.worth, cap, now).map_err(rejected)?;
        Err(PayError::Declined(decline))
    }
}

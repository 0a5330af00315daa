//! A remote identity check and remote issuer accounts.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port;
use purser_actors::port::{
    BoxFuture, CardBalances, CardDeposit, CheckStatus, IssuerAccountResult, IssuerAccounts, PortError, StartedCheck,
};

use super::{RemoteClient, unreadable};
use crate::provider::CardBalanceReader;
use crate::provider::wire::identity::{
    IdentityCheck, IdentityCheckRequest, IdentityCheckResponse, IssuerAccountRequest, IssuerAccountResponse,
    IssuerBalance, IssuerDeposit,
};
use crate::provider::wire::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, WalletAddress};

/// A check over HTTP.
pub struct RemoteIdentityCheck(pub RemoteClient);

impl port::IdentityCheck for RemoteIdentityCheck {
    fn start<'a>(&'a self, check: &'a port::IdentityCheckRequest) -> BoxFuture<'a, Result<StartedCheck, PortError>> {
        const CALL: &str = "identity start";
        Box::pin(async move {
            let wanted = IdentityCheckRequest {
                wallet: TextValue(WalletAddress(check.wallet)),
            };
            let said: IdentityCheck = self
                .0
                .post(CALL, &["identity-checks"], Some(check.key), &wanted)
                .await?;
            said.read(check.wallet).map_err(unreadable(CALL))
        })
    }

    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>> {
        const CALL: &str = "identity status";
        Box::pin(async move {
            let said: IdentityCheckResponse = self.0.get(CALL, &["identity-checks", reference], &()).await?;
            said.read(reference).map_err(unreadable(CALL))
        })
    }
}

/// Issuer accounts over HTTP.
pub struct RemoteIssuerAccounts(pub RemoteClient);

impl IssuerAccounts for RemoteIssuerAccounts {
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<IssuerAccountResult, PortError>> {
        const CALL: &str = "open account";
        Box::pin(async move {
            let wanted = IssuerAccountRequest {
                wallet: TextValue(WalletAddress(*holder)),
            };
            // The wallet is the key: each wallet has one account.
            let said: IssuerAccountResponse = self.0.post(CALL, &["issuer-accounts"], None, &wanted).await?;
            said.read(*holder).map_err(unreadable(CALL))
        })
    }
}

impl CardBalances for RemoteIssuerAccounts {
    fn is_credited<'a>(&'a self, deposit: &'a CardDeposit) -> BoxFuture<'a, Result<bool, PortError>> {
        const CALL: &str = "deposit";
        Box::pin(async move {
            let address = BaseAddress(deposit.address).to_string();
            let path = ["issuer-accounts", &address, "deposits", &deposit.transaction];
            let amount = UsdcAmount(deposit.amount);
            let said: IssuerDeposit = self.0.get(CALL, &path, &[("amount", amount.to_string())]).await?;
            // Another amount is another deposit, even with the same reference.
            Ok(said.transaction == deposit.transaction && said.amount.0 == amount && said.credited)
        })
    }
}

impl CardBalanceReader for RemoteIssuerAccounts {
    fn balance<'a>(&'a self, address: &'a [u8; 20]) -> BoxFuture<'a, Result<Usdc, PortError>> {
        const CALL: &str = "card balance";
        Box::pin(async move {
            let path = ["issuer-accounts", &BaseAddress(*address).to_string()];
            let said: IssuerBalance = self.0.get(CALL, &path, &()).await?;
            if said.deposit_address.0.0 != *address {
                return Err(unreadable(CALL)(MalformedResponse("it is about another account")));
            }
            Ok(said.balance.0.0)
        })
    }
}

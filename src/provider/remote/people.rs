//! An identity check and holders' accounts elsewhere.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    AccountOpening, BegunCheck, BoxFuture, CardAccounts, CardBalances, CheckStatus, Deposited, IdentityCheck,
    PortError, StartCheck,
};

use super::{Remote, unreadable};
use crate::provider::Balances;
use crate::provider::wire::people::{AccountAnswer, AccountOrder, Balance, Check, CheckAnswer, CheckOrder, Deposit};
use crate::provider::wire::{Address, BaseAddress, Dollars, Text, Unreadable};

/// A check over HTTP.
pub struct RemoteIdentityCheck(pub Remote);

impl IdentityCheck for RemoteIdentityCheck {
    fn start<'a>(&'a self, check: &'a StartCheck) -> BoxFuture<'a, Result<BegunCheck, PortError>> {
        const CALL: &str = "identity start";
        Box::pin(async move {
            let wanted = CheckOrder {
                wallet: Text(Address(check.wallet)),
            };
            let said: Check = self
                .0
                .post(CALL, &["identity-checks"], Some(check.key), &wanted)
                .await?;
            said.read(check.wallet).map_err(unreadable(CALL))
        })
    }

    fn status<'a>(&'a self, reference: &'a str) -> BoxFuture<'a, Result<CheckStatus, PortError>> {
        const CALL: &str = "identity status";
        Box::pin(async move {
            let said: CheckAnswer = self.0.get(CALL, &["identity-checks", reference], &()).await?;
            said.read(reference).map_err(unreadable(CALL))
        })
    }
}

/// Holders' accounts over HTTP.
pub struct RemoteAccounts(pub Remote);

impl CardAccounts for RemoteAccounts {
    fn open<'a>(&'a self, holder: &'a Wallet) -> BoxFuture<'a, Result<AccountOpening, PortError>> {
        const CALL: &str = "open account";
        Box::pin(async move {
            let wanted = AccountOrder {
                holder: Text(Address(*holder)),
            };
            // The holder is the key: a wallet has one account.
            let said: AccountAnswer = self.0.post(CALL, &["card-accounts"], None, &wanted).await?;
            said.read(*holder).map_err(unreadable(CALL))
        })
    }
}

impl CardBalances for RemoteAccounts {
    fn is_credited<'a>(&'a self, deposit: &'a Deposited) -> BoxFuture<'a, Result<bool, PortError>> {
        const CALL: &str = "deposit";
        Box::pin(async move {
            let address = BaseAddress(deposit.address).to_string();
            let path = ["card-accounts", &address, "deposits", &deposit.transaction];
            let amount = Dollars(deposit.amount);
            let said: Deposit = self.0.get(CALL, &path, &[("amount", amount.to_string())]).await?;
            // Another amount is another deposit, whatever it is called.
            Ok(said.transaction == deposit.transaction && said.amount.0 == amount && said.credited)
        })
    }
}

impl Balances for RemoteAccounts {
    fn balance<'a>(&'a self, address: &'a [u8; 20]) -> BoxFuture<'a, Result<Usdc, PortError>> {
        const CALL: &str = "card balance";
        Box::pin(async move {
            let path = ["card-accounts", &BaseAddress(*address).to_string()];
            let said: Balance = self.0.get(CALL, &path, &()).await?;
            if said.deposit_address.0.0 != *address {
                return Err(unreadable(CALL)(Unreadable("it is about another account")));
            }
            Ok(said.balance.0.0)
        })
    }
}

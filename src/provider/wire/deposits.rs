//! Bank deposits and balances on the wire: `GET /v1/bank-deposits`, `GET /v1/bank-accounts/{account_id}`.

use purser_actors::id::{BankAccountId, BankTransferId};
use purser_actors::money::Cents;
use purser_actors::port::banking::IncomingTransfer;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue};

/// Deposits into on-ramps and returned transfers, in the order of their positions.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDepositList {
    /// Oldest first; each position is higher than the one before.
    pub deposits: Vec<BankDeposit>,
}

/// Money for the service to credit: a deposit into an on-ramp, or a returned transfer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDeposit {
    /// Position over all accounts, from 1. Use it as `after` to continue.
    pub position: u64,
    /// The bank's reference of the deposit, 1 to 200 bytes. A repeated reference is the same deposit.
    pub reference: String,
    /// The service's id of the account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// Amount in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Sender as reported by the bank.
    pub sender: String,
    /// The service's own transfer that is returned by this deposit; `null` for a deposit by others.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<String>)]
    pub returned_transfer_id: Option<TextValue<BankTransferId>>,
}

impl BankDepositList {
    /// The wire form of the bank's list.
    pub fn of(transfers: Vec<IncomingTransfer>) -> Self {
        let deposits = transfers.into_iter().map(|one| BankDeposit {
            position: one.position,
            reference: one.reference,
            account_id: TextValue(one.account),
            amount: TextValue(DecimalAmount(one.amount)),
            sender: one.sender,
            returned_transfer_id: one.returned_transfer.map(TextValue),
        });
        Self {
            deposits: deposits.collect(),
        }
    }

    /// Reads the list after position `after`.
    ///
    /// # Errors
    /// When the positions do not rise (a skipped deposit would be lost), or a deposit has no reference or no amount.
    pub fn read(self, after: u64) -> Result<Vec<IncomingTransfer>, MalformedResponse> {
        super::rising(after, self.deposits.iter().map(|one| one.position))?;
        let transfers = self.deposits.into_iter().map(|one| {
            if one.amount.0.0 == Cents::ZERO {
                return Err(MalformedResponse("it is about no money"));
            }
            Ok(IncomingTransfer {
                position: one.position,
                reference: super::name(one.reference)?,
                account: one.account_id.0,
                amount: one.amount.0.0,
                sender: one.sender,
                returned_transfer: one.returned_transfer_id.map(|id| id.0),
            })
        });
        transfers.collect()
    }
}

/// Current balance of an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankBalance {
    /// The service's id of the account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// Balance in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub balance: TextValue<DecimalAmount>,
}

impl BankBalance {
    /// Reads the balance.
    ///
    /// # Errors
    /// When it is about another account.
    pub fn read(&self, account: BankAccountId) -> Result<Cents, MalformedResponse> {
        match self.account_id.0 == account {
            true => Ok(self.balance.0.0),
            false => Err(MalformedResponse("it is about another account")),
        }
    }
}

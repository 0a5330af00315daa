//! What comes in at the bank, and what stands there, on the wire: `GET /v1/bank-deposits`,
//! `GET /v1/bank-accounts/{account_id}`.

use purser_actors::id::{BankAccountId, BankTransferId};
use purser_actors::money::Cents;
use purser_actors::port::banking::IncomingTransfer;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue};

/// Money that came into on-ramps, and what comes back of transfers to accounts, in the order in which the bank counted it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDepositList {
    /// Oldest first; each number is higher than the one before.
    pub deposits: Vec<BankDeposit>,
}

/// Money that is the service's to credit: it came into an on-ramp, or comes back of a transfer to an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDeposit {
    /// Its place over all accounts, from 1: where the next reading goes on.
    pub position: u64,
    /// The bank's name of it, 1 to 200 bytes: the same name is the same money, however often it is told.
    pub reference: String,
    /// Into which account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// In US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Who sent it, as the bank tells.
    pub sender: String,
    /// The transfer that this gives back, of which the service moved the money earlier; null for money of others.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(value_type = Option<String>)]
    pub returned_transfer_id: Option<TextValue<BankTransferId>>,
}

impl BankDepositList {
    /// As the bank says it.
    pub fn of(told: Vec<IncomingTransfer>) -> Self {
        let deposits = told.into_iter().map(|one| BankDeposit {
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

    /// As this service reads it, from behind `after`.
    ///
    /// # Errors
    /// When the numbers do not rise (money that is skipped over would be lost), or one has no name or no amount.
    pub fn read(self, after: u64) -> Result<Vec<IncomingTransfer>, MalformedResponse> {
        super::rising(after, self.deposits.iter().map(|one| one.position))?;
        let told = self.deposits.into_iter().map(|one| {
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
        told.collect()
    }
}

/// What stands on an account now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankBalance {
    /// Which account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// In US dollars.
    #[schema(value_type = DecimalAmount)]
    pub balance: TextValue<DecimalAmount>,
}

impl BankBalance {
    /// As this service reads it.
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

//! A bank's accounts and moves on the wire: `POST /v1/bank-accounts`, `POST /v1/bank-transfers`.

use purser_actors::id::{BankAccountId, BankTransferId, EffectId};
use purser_actors::port::banking::{self as port, Coordinates, MoveOrder, Moved, Opening, Ramp, Ruling};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, Text, Unreadable, name};

/// What an account is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankRamp {
    /// Money that comes in is the service's, which credits its holder.
    Onramp,
    /// The holder keeps dollars there.
    Offramp,
}

/// An account to be opened.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankAccountOrder {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub account_id: Text<BankAccountId>,
    /// Whose: the bank's name of the customer.
    pub customer: String,
    /// What it is for.
    pub ramp: BankRamp,
}

impl From<&port::AccountOrder> for BankAccountOrder {
    fn from(order: &port::AccountOrder) -> Self {
        Self {
            account_id: Text(order.account),
            customer: order.customer.clone(),
            ramp: match order.ramp {
                Ramp::On => BankRamp::Onramp,
                Ramp::Off => BankRamp::Offramp,
            },
        }
    }
}

impl BankAccountOrder {
    /// As the bank reads it.
    pub fn read(self, key: EffectId) -> port::AccountOrder {
        port::AccountOrder {
            key,
            account: self.account_id.0,
            customer: self.customer,
            ramp: match self.ramp {
                BankRamp::Onramp => Ramp::On,
                BankRamp::Offramp => Ramp::Off,
            },
        }
    }
}

/// What came of opening an account. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankAccountAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub account_id: Text<BankAccountId>,
    /// The order's.
    pub customer: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BankAccountState,
}

/// Where an account stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankAccountState {
    /// Not yet; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Open.
    Open {
        /// The bank, in 200 bytes.
        bank_name: String,
        /// ABA, nine digits.
        routing_number: String,
        /// The account's number, in 200 bytes.
        account_number: String,
        /// What a payer writes with it; `null` if nothing. It must be there: money without it may be lost.
        #[serde(deserialize_with = "Option::deserialize")]
        #[schema(required)]
        memo: Option<String>,
    },
    /// There is none under this key and will be none.
    Refused {
        /// The bank's word for it.
        reason: String,
    },
}

impl BankAccountAnswer {
    /// As the bank says it.
    pub fn of(order: &port::AccountOrder, said: Ruling<Opening>) -> Self {
        Self {
            account_id: Text(order.account),
            customer: order.customer.clone(),
            state: match said {
                Ruling::Pending { retry_after_ms } => BankAccountState::Pending { retry_after_ms },
                Ruling::Over(Opening::Open(at)) => BankAccountState::Open {
                    bank_name: at.bank_name,
                    routing_number: at.routing_number,
                    account_number: at.account_number,
                    memo: at.memo,
                },
                Ruling::Over(Opening::Refused { reason }) => BankAccountState::Refused { reason },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order, or no account that money can be sent to.
    pub fn read(self, order: &port::AccountOrder) -> Result<Ruling<Opening>, Unreadable> {
        if self.account_id.0 != order.account || self.customer != order.customer {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            BankAccountState::Pending { retry_after_ms } => Ruling::Pending { retry_after_ms },
            BankAccountState::Open {
                bank_name,
                routing_number,
                account_number,
                memo,
            } => {
                if routing_number.len() != 9 || !routing_number.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(Unreadable("a routing number has nine digits"));
                }
                Ruling::Over(Opening::Open(Coordinates {
                    bank_name: name(bank_name)?,
                    routing_number,
                    account_number: name(account_number)?,
                    memo: memo.map(name).transpose()?,
                }))
            }
            BankAccountState::Refused { reason } => Ruling::Over(Opening::Refused { reason }),
        })
    }
}

/// Which way money goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankDirection {
    /// From the service's money at the bank to the holder's account.
    ToAccount,
    /// From the holder's account to the service.
    FromAccount,
}

/// A move between the service's money at the bank and a holder's account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankTransfer {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub transfer_id: Text<BankTransferId>,
    /// Which account.
    #[schema(value_type = String)]
    pub account_id: Text<BankAccountId>,
    /// In US dollars.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Which way.
    pub direction: BankDirection,
}

impl From<&MoveOrder> for BankTransfer {
    fn from(order: &MoveOrder) -> Self {
        Self {
            transfer_id: Text(order.transfer),
            account_id: Text(order.account),
            amount: Text(Amount(order.amount)),
            direction: match order.to_account {
                true => BankDirection::ToAccount,
                false => BankDirection::FromAccount,
            },
        }
    }
}

impl BankTransfer {
    /// As the bank reads it.
    pub fn read(&self, key: EffectId) -> MoveOrder {
        MoveOrder {
            key,
            transfer: self.transfer_id.0,
            account: self.account_id.0,
            amount: self.amount.0.0,
            to_account: self.direction == BankDirection::ToAccount,
        }
    }
}

/// What came of a move. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankTransferAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub transfer_id: Text<BankTransferId>,
    /// The order's.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BankTransferState,
}

/// Where a move stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankTransferState {
    /// Not yet; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Done.
    Complete {
        /// The bank's name of it, 1 to 200 bytes.
        reference: String,
    },
    /// Definitely not, and never under this key.
    Failed {
        /// The bank's word for it.
        reason: String,
    },
}

impl BankTransferAnswer {
    /// As the bank says it.
    pub fn of(order: &MoveOrder, said: Ruling<Moved>) -> Self {
        Self {
            transfer_id: Text(order.transfer),
            amount: Text(Amount(order.amount)),
            state: match said {
                Ruling::Pending { retry_after_ms } => BankTransferState::Pending { retry_after_ms },
                Ruling::Over(Moved::Complete { reference }) => BankTransferState::Complete { reference },
                Ruling::Over(Moved::Failed { reason }) => BankTransferState::Failed { reason },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order.
    pub fn read(self, order: &MoveOrder) -> Result<Ruling<Moved>, Unreadable> {
        if self.transfer_id.0 != order.transfer || self.amount.0.0 != order.amount {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            BankTransferState::Pending { retry_after_ms } => Ruling::Pending { retry_after_ms },
            BankTransferState::Complete { reference } => Ruling::Over(Moved::Complete {
                reference: name(reference)?,
            }),
            BankTransferState::Failed { reason } => Ruling::Over(Moved::Failed { reason }),
        })
    }
}

//! A bank's accounts and moves on the wire: `POST /v1/bank-accounts`, `POST /v1/bank-transfers`.

use purser_actors::id::{BankAccountId, BankTransferId, JobId};
use purser_actors::port::banking::{
    self as port, AccountNumbers, AccountType, BankDecision, BankTransferResult, OpenAccountResult,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue, name};

/// What an account is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankAccountType {
    /// Money that comes in is the service's, which credits its holder.
    Onramp,
    /// The holder keeps dollars there.
    Offramp,
}

/// An account to be opened.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenBankAccountRequest {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// Whose: the bank's name of the customer.
    pub customer: String,
    /// What it is for.
    pub account_type: BankAccountType,
}

impl From<&port::OpenAccountRequest> for OpenBankAccountRequest {
    fn from(order: &port::OpenAccountRequest) -> Self {
        Self {
            account_id: TextValue(order.account),
            customer: order.customer.clone(),
            account_type: match order.account_type {
                AccountType::OnRamp => BankAccountType::Onramp,
                AccountType::OffRamp => BankAccountType::Offramp,
            },
        }
    }
}

impl OpenBankAccountRequest {
    /// As the bank reads it.
    pub fn read(self, key: JobId) -> port::OpenAccountRequest {
        port::OpenAccountRequest {
            key,
            account: self.account_id.0,
            customer: self.customer,
            account_type: match self.account_type {
                BankAccountType::Onramp => AccountType::OnRamp,
                BankAccountType::Offramp => AccountType::OffRamp,
            },
        }
    }
}

/// What came of opening an account. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankAccountResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// The order's.
    pub customer: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BankAccountStatus,
}

/// Where an account stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankAccountStatus {
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
    Rejected {
        /// The bank's word for it.
        reason: String,
    },
}

impl BankAccountResponse {
    /// As the bank says it.
    pub fn of(order: &port::OpenAccountRequest, said: BankDecision<OpenAccountResult>) -> Self {
        Self {
            account_id: TextValue(order.account),
            customer: order.customer.clone(),
            state: match said {
                BankDecision::Pending { retry_after_ms } => BankAccountStatus::Pending { retry_after_ms },
                BankDecision::Final(OpenAccountResult::Open(at)) => BankAccountStatus::Open {
                    bank_name: at.bank_name,
                    routing_number: at.routing_number,
                    account_number: at.account_number,
                    memo: at.memo,
                },
                BankDecision::Final(OpenAccountResult::Rejected { reason }) => BankAccountStatus::Rejected { reason },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order, or no account that money can be sent to.
    pub fn read(self, order: &port::OpenAccountRequest) -> Result<BankDecision<OpenAccountResult>, MalformedResponse> {
        if self.account_id.0 != order.account || self.customer != order.customer {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            BankAccountStatus::Pending { retry_after_ms } => BankDecision::Pending { retry_after_ms },
            BankAccountStatus::Open {
                bank_name,
                routing_number,
                account_number,
                memo,
            } => {
                if routing_number.len() != 9 || !routing_number.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(MalformedResponse("a routing number has nine digits"));
                }
                BankDecision::Final(OpenAccountResult::Open(AccountNumbers {
                    bank_name: name(bank_name)?,
                    routing_number,
                    account_number: name(account_number)?,
                    memo: memo.map(name).transpose()?,
                }))
            }
            BankAccountStatus::Rejected { reason } => BankDecision::Final(OpenAccountResult::Rejected { reason }),
        })
    }
}

/// Which way money goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankTransferDirection {
    /// From the service's money at the bank to the holder's account.
    ToAccount,
    /// From the holder's account to the service.
    FromAccount,
}

/// A move between the service's money at the bank and a holder's account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankTransferRequest {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub transfer_id: TextValue<BankTransferId>,
    /// Which account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// In US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Which way.
    pub direction: BankTransferDirection,
}

impl From<&port::BankTransferRequest> for BankTransferRequest {
    fn from(order: &port::BankTransferRequest) -> Self {
        Self {
            transfer_id: TextValue(order.transfer),
            account_id: TextValue(order.account),
            amount: TextValue(DecimalAmount(order.amount)),
            direction: match order.to_account {
                true => BankTransferDirection::ToAccount,
                false => BankTransferDirection::FromAccount,
            },
        }
    }
}

impl BankTransferRequest {
    /// As the bank reads it.
    pub fn read(&self, key: JobId) -> port::BankTransferRequest {
        port::BankTransferRequest {
            key,
            transfer: self.transfer_id.0,
            account: self.account_id.0,
            amount: self.amount.0.0,
            to_account: self.direction == BankTransferDirection::ToAccount,
        }
    }
}

/// What came of a move. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankTransferResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub transfer_id: TextValue<BankTransferId>,
    /// The order's.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: BankTransferStatus,
}

/// Where a move stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankTransferStatus {
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

impl BankTransferResponse {
    /// As the bank says it.
    pub fn of(order: &port::BankTransferRequest, said: BankDecision<BankTransferResult>) -> Self {
        Self {
            transfer_id: TextValue(order.transfer),
            amount: TextValue(DecimalAmount(order.amount)),
            state: match said {
                BankDecision::Pending { retry_after_ms } => BankTransferStatus::Pending { retry_after_ms },
                BankDecision::Final(BankTransferResult::Complete { reference }) => {
                    BankTransferStatus::Complete { reference }
                }
                BankDecision::Final(BankTransferResult::Failed { reason }) => BankTransferStatus::Failed { reason },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order.
    pub fn read(
        self,
        order: &port::BankTransferRequest,
    ) -> Result<BankDecision<BankTransferResult>, MalformedResponse> {
        if self.transfer_id.0 != order.transfer || self.amount.0.0 != order.amount {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            BankTransferStatus::Pending { retry_after_ms } => BankDecision::Pending { retry_after_ms },
            BankTransferStatus::Complete { reference } => BankDecision::Final(BankTransferResult::Complete {
                reference: name(reference)?,
            }),
            BankTransferStatus::Failed { reason } => BankDecision::Final(BankTransferResult::Failed { reason }),
        })
    }
}

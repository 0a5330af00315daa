//! Bank accounts and transfers on the wire: `POST /v1/bank-accounts`, `POST /v1/bank-transfers`.

use purser_actors::id::{BankAccountId, BankTransferId, JobId};
use purser_actors::port::banking::{
    self as port, AccountNumbers, AccountType, BankDecision, BankTransferResult, OpenAccountResult,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{DecimalAmount, MalformedResponse, TextValue, name};

/// Purpose of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankAccountType {
    /// Incoming money belongs to the service, which credits the account owner.
    Onramp,
    /// The account owner keeps dollars in this account.
    Offramp,
}

/// A request to open an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenBankAccountRequest {
    /// The service's id of the account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// The bank's reference of the customer.
    pub customer: String,
    /// Purpose of the account.
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
    /// The request as the bank reads it.
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

/// Result of opening an account. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankAccountResponse {
    /// Account id of the request.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// Customer of the request.
    pub customer: String,
    /// Status of the account.
    #[serde(flatten)]
    pub state: BankAccountStatus,
}

/// Status of an account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankAccountStatus {
    /// Not opened yet; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The account is open.
    Open {
        /// Name of the bank, at most 200 bytes.
        bank_name: String,
        /// ABA routing number, nine digits.
        routing_number: String,
        /// Account number, at most 200 bytes.
        account_number: String,
        /// Reference text (memo) that a payer must include; `null` if none. Money sent without it may be lost.
        #[serde(deserialize_with = "Option::deserialize")]
        #[schema(required)]
        memo: Option<String>,
    },
    /// No account exists under this key, and none ever will.
    Rejected {
        /// The bank's reason.
        reason: String,
    },
}

impl BankAccountResponse {
    /// The wire form of the bank's result.
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

    /// Reads the bank's result.
    ///
    /// # Errors
    /// When it is about another request, or the account cannot receive money.
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

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankTransferDirection {
    /// From the service's money at the bank to the owner's account.
    ToAccount,
    /// From the owner's account to the service.
    FromAccount,
}

/// A transfer between the service's money at the bank and an owner's account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankTransferRequest {
    /// The service's id of the transfer.
    #[schema(value_type = String)]
    pub transfer_id: TextValue<BankTransferId>,
    /// The service's id of the account.
    #[schema(value_type = String)]
    pub account_id: TextValue<BankAccountId>,
    /// Amount in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Direction of the transfer.
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
    /// The request as the bank reads it.
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

/// Result of a transfer. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankTransferResponse {
    /// Transfer id of the request.
    #[schema(value_type = String)]
    pub transfer_id: TextValue<BankTransferId>,
    /// Amount of the request.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Status of the transfer.
    #[serde(flatten)]
    pub state: BankTransferStatus,
}

/// Status of a transfer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankTransferStatus {
    /// Not completed yet; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The transfer is complete.
    Complete {
        /// The bank's reference of the transfer, 1 to 200 bytes.
        reference: String,
    },
    /// The transfer failed and is never executed under this key.
    Failed {
        /// The bank's reason.
        reason: String,
    },
}

impl BankTransferResponse {
    /// The wire form of the bank's result.
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

    /// Reads the bank's result.
    ///
    /// # Errors
    /// When it is about another request.
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

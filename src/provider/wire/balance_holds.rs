//! Holds on card balances, on the wire: `POST /v1/balance-holds`, `GET /v1/balance-holds/{key}` and `POST
//! /v1/balance-holds/{key}/settle`.

use purser_actors::id::{JobId, WithdrawalId};
use purser_actors::port;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, DecimalAmount, MalformedResponse, TextValue};

/// A request to hold part of a balance, so that it cannot be spent otherwise.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// The service's id of the withdrawal that the hold is for.
    #[schema(value_type = String)]
    pub withdrawal_id: TextValue<WithdrawalId>,
    /// Deposit address on Base of the account whose balance is held.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// Amount in US dollars.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
}

impl From<&port::HoldRequest> for HoldRequest {
    fn from(order: &port::HoldRequest) -> Self {
        Self {
            withdrawal_id: TextValue(order.withdrawal),
            deposit_address: TextValue(BaseAddress(order.account)),
            amount: TextValue(DecimalAmount(order.amount)),
        }
    }
}

impl HoldRequest {
    /// The request as the provider reads it.
    pub fn read(&self, key: JobId) -> port::HoldRequest {
        port::HoldRequest {
            key,
            withdrawal: self.withdrawal_id.0,
            account: self.deposit_address.0.0,
            amount: self.amount.0.0,
        }
    }
}

/// Result of a hold request. It repeats the request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldResponse {
    /// Withdrawal id of the request.
    #[schema(value_type = String)]
    pub withdrawal_id: TextValue<WithdrawalId>,
    /// Deposit address of the request.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// Amount of the request.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Status of the hold.
    #[serde(flatten)]
    pub state: HoldResult,
}

/// Status of a hold.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum HoldResult {
    /// The amount is on hold.
    Held,
    /// The amount was on hold under this key, and the hold was settled.
    Settled {
        /// Whether the hold was captured; otherwise it was released to the balance.
        captured: bool,
    },
    /// Accepted; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: the balance was too low. There is no hold under this key, and there never will be.
    InsufficientBalance,
    /// Declined for another reason.
    Declined {
        /// The issuer's reason.
        reason: String,
    },
}

impl HoldResponse {
    /// The wire form of the provider's result.
    pub fn of(order: HoldRequest, said: port::HoldResult) -> Self {
        let state = match said {
            port::HoldResult::Held => HoldResult::Held,
            port::HoldResult::AlreadySettled { paid } => HoldResult::Settled { captured: paid },
            port::HoldResult::Pending { retry_after_ms } => HoldResult::Pending { retry_after_ms },
            port::HoldResult::InsufficientBalance => HoldResult::InsufficientBalance,
            port::HoldResult::Declined { reason } => HoldResult::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            withdrawal_id: order.withdrawal_id,
            deposit_address: order.deposit_address,
            amount: order.amount,
            state,
        }
    }

    /// Reads the provider's result.
    ///
    /// # Errors
    /// When it is about another request.
    pub fn read(self, order: &port::HoldRequest) -> Result<port::HoldResult, MalformedResponse> {
        let named = (self.withdrawal_id.0, self.deposit_address.0.0, self.amount.0.0);
        if named != (order.withdrawal, order.account, order.amount) {
            return Err(MalformedResponse("it is about another order"));
        }
        Ok(match self.state {
            HoldResult::Held => port::HoldResult::Held,
            HoldResult::Settled { captured: paid } => port::HoldResult::AlreadySettled { paid },
            HoldResult::Pending { retry_after_ms } => port::HoldResult::Pending { retry_after_ms },
            HoldResult::InsufficientBalance => port::HoldResult::InsufficientBalance,
            HoldResult::Declined { reason } => port::HoldResult::Declined { reason: reason.into() },
        })
    }
}

/// Status of the hold under a key.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldLookupResponse {
    /// Key of the hold.
    pub key: String,
    /// Status of the hold.
    pub status: HoldStatus,
}

/// Status of a hold, by its key.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldStatus {
    /// The amount is on hold.
    Held,
    /// The hold was captured.
    Captured,
    /// The hold was released to the balance.
    Released,
    /// There was never a hold under this key.
    NotFound,
}

impl HoldLookupResponse {
    /// The wire form of the provider's status.
    pub fn of(key: JobId, said: port::HoldStatus) -> Self {
        let status = match said {
            port::HoldStatus::Held => HoldStatus::Held,
            port::HoldStatus::Settled { paid: true } => HoldStatus::Captured,
            port::HoldStatus::Settled { paid: false } => HoldStatus::Released,
            port::HoldStatus::NotFound => HoldStatus::NotFound,
        };
        let key = key.to_string();
        Self { key, status }
    }

    /// Reads the provider's status.
    ///
    /// # Errors
    /// When it is about another hold.
    pub fn read(&self, key: JobId) -> Result<port::HoldStatus, MalformedResponse> {
        if self.key != key.to_string() {
            return Err(MalformedResponse("it is about another reservation"));
        }
        Ok(match self.status {
            HoldStatus::Held => port::HoldStatus::Held,
            HoldStatus::Captured => port::HoldStatus::Settled { paid: true },
            HoldStatus::Released => port::HoldStatus::Settled { paid: false },
            HoldStatus::NotFound => port::HoldStatus::NotFound,
        })
    }
}

/// Settles a hold. The result is final: repeating it changes nothing, and the opposite is `rejected`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleHoldRequest {
    /// Whether to capture the hold; otherwise it is released to the balance.
    pub captured: bool,
}

/// Result of a settled hold.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SettleHoldResponse {
    /// Key of the hold.
    pub key: String,
    /// Whether the hold was captured.
    pub captured: bool,
}

impl SettleHoldResponse {
    /// Checks the provider's response.
    ///
    /// # Errors
    /// When it is about another hold, or another result.
    pub fn read(&self, key: JobId, paid: bool) -> Result<(), MalformedResponse> {
        match (&*self.key, self.captured) == (&*key.to_string(), paid) {
            true => Ok(()),
            false => Err(MalformedResponse("it is about another reservation")),
        }
    }
}

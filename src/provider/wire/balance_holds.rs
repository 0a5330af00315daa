//! What is set aside of holders' balances, on the wire: `POST /v1/balance-holds`,
//! `GET /v1/balance-holds/{key}` and `POST /v1/balance-holds/{key}/settle`.

use purser_actors::id::{JobId, WithdrawalId};
use purser_actors::port;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, DecimalAmount, MalformedResponse, TextValue};

/// Part of a balance that is to be set aside, so that nothing else can spend it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldRequest {
    /// The service's id of what it is for.
    #[schema(value_type = String)]
    pub withdrawal_id: TextValue<WithdrawalId>,
    /// Whose balance: the deposit address of the account on Base.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// How much, in US dollars.
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
    /// As the program reads it.
    pub fn read(&self, key: JobId) -> port::HoldRequest {
        port::HoldRequest {
            key,
            withdrawal: self.withdrawal_id.0,
            account: self.deposit_address.0.0,
            amount: self.amount.0.0,
        }
    }
}

/// What became of it. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub withdrawal_id: TextValue<WithdrawalId>,
    /// The order's.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// The order's.
    #[schema(value_type = DecimalAmount)]
    pub amount: TextValue<DecimalAmount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: HoldResult,
}

/// Where a reservation stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum HoldResult {
    /// It is set aside.
    Held,
    /// It was set aside under this key, and that has ended for good.
    Settled {
        /// Whether it was paid out; if not, it is the balance's again.
        captured: bool,
    },
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance was less. Nothing is set aside under this key and nothing will be.
    InsufficientBalance,
    /// Definitely refused for another reason.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

impl HoldResponse {
    /// As the program says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another order.
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

/// How what was asked for under a key stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldLookupResponse {
    /// The reservation's key.
    pub key: String,
    /// Where it stands.
    pub status: HoldStatus,
}

/// Where a reservation stands, by its key alone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldStatus {
    /// It is set aside.
    Held,
    /// It was, and was paid out.
    Captured,
    /// It was, and is the balance's again.
    Released,
    /// Definitely: nothing was ever set aside under this key.
    NotFound,
}

impl HoldLookupResponse {
    /// As the program says it.
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

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another reservation.
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

/// How a reservation ends, for good. The same end once more changes nothing; the other one is `rejected`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettleHoldRequest {
    /// Whether the amount was paid out; else it is the balance's again.
    pub captured: bool,
}

/// How it has ended.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct SettleHoldResponse {
    /// The reservation's key.
    pub key: String,
    /// Whether it was paid out.
    pub captured: bool,
}

impl SettleHoldResponse {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another reservation, or another end.
    pub fn read(&self, key: JobId, paid: bool) -> Result<(), MalformedResponse> {
        match (&*self.key, self.captured) == (&*key.to_string(), paid) {
            true => Ok(()),
            false => Err(MalformedResponse("it is about another reservation")),
        }
    }
}

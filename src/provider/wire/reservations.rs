//! What is set aside of holders' balances, on the wire: `POST /v1/balance-reservations`,
//! `GET /v1/balance-reservations/{key}` and `POST /v1/balance-reservations/{key}/end`.

use purser_actors::id::{EffectId, WithdrawalId};
use purser_actors::port::{Reservation, ReserveBalance, Reserved};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Amount, BaseAddress, Text, Unreadable};

/// Part of a balance that is to be set aside, so that nothing else can spend it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationOrder {
    /// The service's id of what it is for.
    #[schema(value_type = String)]
    pub withdrawal_id: Text<WithdrawalId>,
    /// Whose balance: the deposit address of the account on Base.
    #[schema(value_type = String)]
    pub deposit_address: Text<BaseAddress>,
    /// How much, in US dollars.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
}

impl From<&ReserveBalance> for ReservationOrder {
    fn from(order: &ReserveBalance) -> Self {
        Self {
            withdrawal_id: Text(order.withdrawal),
            deposit_address: Text(BaseAddress(order.account)),
            amount: Text(Amount(order.amount)),
        }
    }
}

impl ReservationOrder {
    /// As the program reads it.
    pub fn read(&self, key: EffectId) -> ReserveBalance {
        ReserveBalance {
            key,
            withdrawal: self.withdrawal_id.0,
            account: self.deposit_address.0.0,
            amount: self.amount.0.0,
        }
    }
}

/// What became of it. It names the order again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReservationAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub withdrawal_id: Text<WithdrawalId>,
    /// The order's.
    #[schema(value_type = String)]
    pub deposit_address: Text<BaseAddress>,
    /// The order's.
    #[schema(value_type = Amount)]
    pub amount: Text<Amount>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ReservationState,
}

/// Where a reservation stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ReservationState {
    /// It is set aside.
    Held,
    /// It was set aside under this key, and that has ended for good.
    Ended {
        /// Whether it was paid out; if not, it is the balance's again.
        paid: bool,
    },
    /// Accepted; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: the balance was less. Nothing is set aside under this key and nothing will be.
    Insufficient,
    /// Definitely refused for another reason.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

impl ReservationAnswer {
    /// As the program says it.
    pub fn of(order: ReservationOrder, said: Reservation) -> Self {
        let state = match said {
            Reservation::Held => ReservationState::Held,
            Reservation::Ended { paid } => ReservationState::Ended { paid },
            Reservation::Pending { retry_after_ms } => ReservationState::Pending { retry_after_ms },
            Reservation::Insufficient => ReservationState::Insufficient,
            Reservation::Declined { reason } => ReservationState::Declined {
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
    pub fn read(self, order: &ReserveBalance) -> Result<Reservation, Unreadable> {
        let named = (self.withdrawal_id.0, self.deposit_address.0.0, self.amount.0.0);
        if named != (order.withdrawal, order.account, order.amount) {
            return Err(Unreadable("it is about another order"));
        }
        Ok(match self.state {
            ReservationState::Held => Reservation::Held,
            ReservationState::Ended { paid } => Reservation::Ended { paid },
            ReservationState::Pending { retry_after_ms } => Reservation::Pending { retry_after_ms },
            ReservationState::Insufficient => Reservation::Insufficient,
            ReservationState::Declined { reason } => Reservation::Declined { reason: reason.into() },
        })
    }
}

/// How what was asked for under a key stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReservationStanding {
    /// The reservation's key.
    pub key: String,
    /// Where it stands.
    pub status: ReservationStatus,
}

/// Where a reservation stands, by its key alone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReservationStatus {
    /// It is set aside.
    Held,
    /// It was, and was paid out.
    Paid,
    /// It was, and is the balance's again.
    PutBack,
    /// Definitely: nothing was ever set aside under this key.
    Never,
}

impl ReservationStanding {
    /// As the program says it.
    pub fn of(key: EffectId, said: Reserved) -> Self {
        let status = match said {
            Reserved::Held => ReservationStatus::Held,
            Reserved::Ended { paid: true } => ReservationStatus::Paid,
            Reserved::Ended { paid: false } => ReservationStatus::PutBack,
            Reserved::Never => ReservationStatus::Never,
        };
        let key = key.to_string();
        Self { key, status }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another reservation.
    pub fn read(&self, key: EffectId) -> Result<Reserved, Unreadable> {
        if self.key != key.to_string() {
            return Err(Unreadable("it is about another reservation"));
        }
        Ok(match self.status {
            ReservationStatus::Held => Reserved::Held,
            ReservationStatus::Paid => Reserved::Ended { paid: true },
            ReservationStatus::PutBack => Reserved::Ended { paid: false },
            ReservationStatus::Never => Reserved::Never,
        })
    }
}

/// How a reservation ends, for good. The same end once more changes nothing; the other one is `refused`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationEnd {
    /// Whether the amount was paid out; else it is the balance's again.
    pub paid: bool,
}

/// How it has ended.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ReservationEnded {
    /// The reservation's key.
    pub key: String,
    /// Whether it was paid out.
    pub paid: bool,
}

impl ReservationEnded {
    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another reservation, or another end.
    pub fn read(&self, key: EffectId, paid: bool) -> Result<(), Unreadable> {
        match (&*self.key, self.paid) == (&*key.to_string(), paid) {
            true => Ok(()),
            false => Err(Unreadable("it is about another reservation")),
        }
    }
}

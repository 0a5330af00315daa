//! People on the wire: `POST /v1/identity-checks`, `GET /v1/identity-checks/{reference}`, `POST /v1/card-accounts`,
//! `GET /v1/card-accounts/{address}`, `GET /v1/card-accounts/{address}/deposits/{transaction}`.

use purser_actors::port::{AccountOpening, BegunCheck, CheckStatus, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Address, BaseAddress, Dollars, Text, Unreadable};

/// A check to be begun.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckOrder {
    /// Whose holder.
    #[schema(value_type = String)]
    pub wallet: Text<Address>,
}

/// A check that has begun.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Check {
    /// The order's.
    #[schema(value_type = String)]
    pub wallet: Text<Address>,
    /// The provider's name of it.
    pub reference: String,
    /// Where the person answers the provider's questions: for the owner's page alone.
    pub url: String,
}

impl Check {
    /// As the provider says it.
    pub fn of(wallet: purser_actors::id::Wallet, begun: BegunCheck) -> Self {
        Self {
            wallet: Text(Address(wallet)),
            reference: begun.reference,
            url: begun.url,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another holder.
    pub fn read(self, wallet: purser_actors::id::Wallet) -> Result<BegunCheck, Unreadable> {
        if self.wallet.0.0 != wallet {
            return Err(Unreadable("it is about another holder"));
        }
        // It becomes a link on the owner's page: nothing but a page may be behind it.
        if !self.url.starts_with("https://") && !self.url.starts_with("http://") {
            return Err(Unreadable("there is no page to answer on"));
        }
        Ok(BegunCheck {
            reference: self.reference,
            url: self.url,
        })
    }
}

/// Where a check stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CheckAnswer {
    /// The check's.
    pub reference: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: CheckState,
}

/// Where a check stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum CheckState {
    /// Not over; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// The holder is who they say they are.
    Passed,
    /// Not proven, or given up.
    Failed {
        /// The provider's word for it.
        reason: String,
    },
}

impl CheckAnswer {
    /// As the provider says it.
    pub fn of(reference: &str, said: CheckStatus) -> Self {
        let state = match said {
            CheckStatus::Pending { retry_after_ms } => CheckState::Pending { retry_after_ms },
            CheckStatus::Over(Verdict::Passed) => CheckState::Passed,
            CheckStatus::Over(Verdict::Failed { reason }) => CheckState::Failed {
                reason: reason.to_string(),
            },
        };
        Self {
            reference: reference.to_owned(),
            state,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another check.
    pub fn read(self, reference: &str) -> Result<CheckStatus, Unreadable> {
        if self.reference != reference {
            return Err(Unreadable("it is about another check"));
        }
        Ok(match self.state {
            CheckState::Pending { retry_after_ms } => CheckStatus::Pending { retry_after_ms },
            CheckState::Passed => CheckStatus::Over(Verdict::Passed),
            CheckState::Failed { reason } => CheckStatus::Over(Verdict::Failed { reason: reason.into() }),
        })
    }
}

/// An account at the issuer, to be opened or found: a holder has one for good.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountOrder {
    /// Whose.
    #[schema(value_type = String)]
    pub holder: Text<Address>,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct AccountAnswer {
    /// The order's.
    #[schema(value_type = String)]
    pub holder: Text<Address>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: AccountState,
}

/// Where an account stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum AccountState {
    /// It is open.
    Open {
        /// Its own address on Base, where USDC for its balance arrives.
        #[schema(value_type = String)]
        deposit_address: Text<BaseAddress>,
    },
    /// Not yet; ask again after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Definitely refused: there is no account.
    Declined {
        /// The issuer's word for it.
        reason: String,
    },
}

impl AccountAnswer {
    /// As the issuer says it.
    pub fn of(holder: purser_actors::id::Wallet, said: AccountOpening) -> Self {
        let state = match said {
            AccountOpening::Open { deposit_address } => AccountState::Open {
                deposit_address: Text(BaseAddress(deposit_address)),
            },
            AccountOpening::Pending { retry_after_ms } => AccountState::Pending { retry_after_ms },
            AccountOpening::Declined { reason } => AccountState::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            holder: Text(Address(holder)),
            state,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another holder: money would go to another's address.
    pub fn read(self, holder: purser_actors::id::Wallet) -> Result<AccountOpening, Unreadable> {
        if self.holder.0.0 != holder {
            return Err(Unreadable("it is about another holder"));
        }
        Ok(match self.state {
            AccountState::Open { deposit_address } => AccountOpening::Open {
                deposit_address: deposit_address.0.0,
            },
            AccountState::Pending { retry_after_ms } => AccountOpening::Pending { retry_after_ms },
            AccountState::Declined { reason } => AccountOpening::Declined { reason: reason.into() },
        })
    }
}

/// What there is behind a deposit address now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Balance {
    /// Whose.
    #[schema(value_type = String)]
    pub deposit_address: Text<BaseAddress>,
    /// In USDC.
    #[schema(value_type = Dollars)]
    pub balance: Text<Dollars>,
}

/// Whether a transfer counts in a balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Deposit {
    /// The transaction on Base.
    pub transaction: String,
    /// How much it moved, in USDC.
    #[schema(value_type = Dollars)]
    pub amount: Text<Dollars>,
    /// Whether it counts now. That it does not says nothing of later.
    pub credited: bool,
}

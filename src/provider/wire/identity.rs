//! People on the wire: `POST /v1/identity-checks`, `GET /v1/identity-checks/{reference}`, `POST /v1/issuer-accounts`,
//! `GET /v1/issuer-accounts/{address}`, `GET /v1/issuer-accounts/{address}/deposits/{transaction}`.

use purser_actors::port::{CheckStatus, IssuerAccountResult, StartedCheck, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, WalletAddress};

/// A check to be begun.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityCheckRequest {
    /// Whose holder.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
}

/// A check that has begun.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityCheck {
    /// The order's.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// The provider's name of it.
    pub reference: String,
    /// Where the person answers the provider's questions: for the owner's page alone.
    pub url: String,
}

impl IdentityCheck {
    /// As the provider says it.
    pub fn of(wallet: purser_actors::id::Wallet, begun: StartedCheck) -> Self {
        Self {
            wallet: TextValue(WalletAddress(wallet)),
            reference: begun.reference,
            url: begun.url,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another holder.
    pub fn read(self, wallet: purser_actors::id::Wallet) -> Result<StartedCheck, MalformedResponse> {
        if self.wallet.0.0 != wallet {
            return Err(MalformedResponse("it is about another holder"));
        }
        // It becomes a link on the owner's page: nothing but a page may be behind it.
        if !self.url.starts_with("https://") && !self.url.starts_with("http://") {
            return Err(MalformedResponse("there is no page to answer on"));
        }
        Ok(StartedCheck {
            reference: self.reference,
            url: self.url,
        })
    }
}

/// Where a check stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityCheckResponse {
    /// The check's.
    pub reference: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: IdentityCheckStatus,
}

/// Where a check stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IdentityCheckStatus {
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

impl IdentityCheckResponse {
    /// As the provider says it.
    pub fn of(reference: &str, said: CheckStatus) -> Self {
        let state = match said {
            CheckStatus::Pending { retry_after_ms } => IdentityCheckStatus::Pending { retry_after_ms },
            CheckStatus::Decided(Verdict::Passed) => IdentityCheckStatus::Passed,
            CheckStatus::Decided(Verdict::Failed { reason }) => IdentityCheckStatus::Failed {
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
    pub fn read(self, reference: &str) -> Result<CheckStatus, MalformedResponse> {
        if self.reference != reference {
            return Err(MalformedResponse("it is about another check"));
        }
        Ok(match self.state {
            IdentityCheckStatus::Pending { retry_after_ms } => CheckStatus::Pending { retry_after_ms },
            IdentityCheckStatus::Passed => CheckStatus::Decided(Verdict::Passed),
            IdentityCheckStatus::Failed { reason } => CheckStatus::Decided(Verdict::Failed { reason: reason.into() }),
        })
    }
}

/// An account at the issuer, to be opened or found: a holder has one for good.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerAccountRequest {
    /// Whose.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerAccountResponse {
    /// The order's.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// Where it stands.
    #[serde(flatten)]
    pub state: IssuerAccountStatus,
}

/// Where an account stands.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssuerAccountStatus {
    /// It is open.
    Open {
        /// Its own address on Base, where USDC for its balance arrives.
        #[schema(value_type = String)]
        deposit_address: TextValue<BaseAddress>,
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

impl IssuerAccountResponse {
    /// As the issuer says it.
    pub fn of(holder: purser_actors::id::Wallet, said: IssuerAccountResult) -> Self {
        let state = match said {
            IssuerAccountResult::Open { deposit_address } => IssuerAccountStatus::Open {
                deposit_address: TextValue(BaseAddress(deposit_address)),
            },
            IssuerAccountResult::Pending { retry_after_ms } => IssuerAccountStatus::Pending { retry_after_ms },
            IssuerAccountResult::Declined { reason } => IssuerAccountStatus::Declined {
                reason: reason.to_string(),
            },
        };
        Self {
            wallet: TextValue(WalletAddress(holder)),
            state,
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another holder: money would go to another's address.
    pub fn read(self, holder: purser_actors::id::Wallet) -> Result<IssuerAccountResult, MalformedResponse> {
        if self.wallet.0.0 != holder {
            return Err(MalformedResponse("it is about another holder"));
        }
        Ok(match self.state {
            IssuerAccountStatus::Open { deposit_address } => IssuerAccountResult::Open {
                deposit_address: deposit_address.0.0,
            },
            IssuerAccountStatus::Pending { retry_after_ms } => IssuerAccountResult::Pending { retry_after_ms },
            IssuerAccountStatus::Declined { reason } => IssuerAccountResult::Declined { reason: reason.into() },
        })
    }
}

/// What there is behind a deposit address now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerBalance {
    /// Whose.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// In USDC.
    #[schema(value_type = UsdcAmount)]
    pub balance: TextValue<UsdcAmount>,
}

/// Whether a transfer counts in a balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerDeposit {
    /// The transaction on Base.
    pub transaction: String,
    /// How much it moved, in USDC.
    #[schema(value_type = UsdcAmount)]
    pub amount: TextValue<UsdcAmount>,
    /// Whether it counts now. That it does not says nothing of later.
    pub credited: bool,
}

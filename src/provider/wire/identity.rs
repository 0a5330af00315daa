//! Identity checks and issuer accounts on the wire: `POST /v1/identity-checks`, `GET /v1/identity-checks/{reference}`,
//! `POST /v1/issuer-accounts`, `GET /v1/issuer-accounts/{address}`, `GET
//! /v1/issuer-accounts/{address}/deposits/{transaction}`.

use purser_actors::port::{CheckStatus, IssuerAccountResult, StartedCheck, Verdict};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{BaseAddress, MalformedResponse, TextValue, UsdcAmount, WalletAddress};

/// A request to start an identity check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IdentityCheckRequest {
    /// Wallet whose account owner is checked.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
}

/// A started identity check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityCheck {
    /// Wallet of the request.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// The provider's reference of the check.
    pub reference: String,
    /// URL of the form for the person. Show it only to the account owner.
    pub url: String,
}

impl IdentityCheck {
    /// The wire form of a started check.
    pub fn of(wallet: purser_actors::id::Wallet, begun: StartedCheck) -> Self {
        Self {
            wallet: TextValue(WalletAddress(wallet)),
            reference: begun.reference,
            url: begun.url,
        }
    }

    /// Reads the started check.
    ///
    /// # Errors
    /// When it is about another wallet.
    pub fn read(self, wallet: purser_actors::id::Wallet) -> Result<StartedCheck, MalformedResponse> {
        if self.wallet.0.0 != wallet {
            return Err(MalformedResponse("it is about another holder"));
        }
        // The URL becomes a link on the owner's page, so only HTTP URLs are accepted.
        if !self.url.starts_with("https://") && !self.url.starts_with("http://") {
            return Err(MalformedResponse("there is no page to answer on"));
        }
        Ok(StartedCheck {
            reference: self.reference,
            url: self.url,
        })
    }
}

/// Status of an identity check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IdentityCheckResponse {
    /// The provider's reference of the check.
    pub reference: String,
    /// Status of the check.
    #[serde(flatten)]
    pub state: IdentityCheckStatus,
}

/// Status of an identity check.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IdentityCheckStatus {
    /// Not decided; query again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// The identity of the account owner is verified.
    Passed,
    /// The identity was not verified, or the check was abandoned.
    Failed {
        /// The provider's reason.
        reason: String,
    },
}

impl IdentityCheckResponse {
    /// The wire form of the provider's status.
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

    /// Reads the provider's status.
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

/// A request to open or find an account at the issuer. Each wallet has one permanent account.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct IssuerAccountRequest {
    /// Wallet of the account owner.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
}

/// Result of an account request.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerAccountResponse {
    /// Wallet of the request.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// Status of the account.
    #[serde(flatten)]
    pub state: IssuerAccountStatus,
}

/// Status of an account at the issuer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum IssuerAccountStatus {
    /// The account is open.
    Open {
        /// The account's deposit address on Base, which receives USDC for its balance.
        #[schema(value_type = String)]
        deposit_address: TextValue<BaseAddress>,
    },
    /// Not open yet; query again after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Declined: there is no account.
    Declined {
        /// The issuer's reason.
        reason: String,
    },
}

impl IssuerAccountResponse {
    /// The wire form of the issuer's result.
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

    /// Reads the issuer's result.
    ///
    /// # Errors
    /// When it is about another wallet: money would go to another owner's address.
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

/// Current balance of a deposit address.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerBalance {
    /// Deposit address of the account.
    #[schema(value_type = String)]
    pub deposit_address: TextValue<BaseAddress>,
    /// Balance in USDC.
    #[schema(value_type = UsdcAmount)]
    pub balance: TextValue<UsdcAmount>,
}

/// Whether a transfer is credited to a balance.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct IssuerDeposit {
    /// Transaction id on Base.
    pub transaction: String,
    /// Amount of the transfer, in USDC.
    #[schema(value_type = UsdcAmount)]
    pub amount: TextValue<UsdcAmount>,
    /// Whether the transfer is credited now. If not, it may still be credited later.
    pub credited: bool,
}

//! Identity checks. Their trait is the engine's own port.

use purser_actors::id::Wallet;
use purser_actors::port::{CheckStatus, ExternalText, IdentityCheck, IdentityCheckRequest, StartedCheck, Verdict};
use serde::{Deserialize, Serialize};

use super::definition::{conversions, provider};
use super::wire::MalformedResponse;

provider! {
    port IdentityCheck, client RemoteIdentityCheck, tag "Identity";

    fn start(check: &'a IdentityCheckRequest) -> StartedCheck {
        POST "/identity-checks" startIdentityCheck "Start an identity check, or return the one started with this key";
        key key = check.key, "The same key never starts a second check.";
        asks body it: CheckBody = CheckBody { wallet: check.wallet };
        calls (&IdentityCheckRequest { key, wallet: it.wallet });
        answers StartedCheckResponse { wallet = check.wallet; .. } "The started check, with the URL of its form.";
    }

    fn status(reference: &'a str) -> CheckStatus {
        GET "/identity-checks/{reference}" getIdentityCheck "Return the status of a check";
        at reference = reference, "The provider's reference of the check.";
        calls (&reference);
        answers IdentityCheckResponse { reference = reference.to_owned(); state } "Pending, passed or failed.";
    }
}

/// A request to start an identity check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = IdentityCheckRequest))]
#[serde(deny_unknown_fields)]
pub struct CheckBody {
    /// Wallet whose account owner is checked.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    wallet: Wallet,
}

/// A started identity check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "documents", schema(as = IdentityCheck))]
pub struct StartedCheckResponse {
    /// Wallet of the request.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    wallet: Wallet,
    /// The provider's reference of the check.
    reference: String,
    /// URL of the form for the person. Show it only to the account owner.
    url: String,
}

impl StartedCheckResponse {
    fn of(started: StartedCheck, wallet: Wallet) -> Self {
        let StartedCheck { reference, url } = started;
        Self { wallet, reference, url }
    }
}

impl TryFrom<StartedCheckResponse> for StartedCheck {
    type Error = MalformedResponse;

    fn try_from(response: StartedCheckResponse) -> Result<Self, MalformedResponse> {
        let StartedCheckResponse { reference, url, .. } = response;
        // The URL becomes a link on the owner's page, so only HTTP URLs are accepted.
        match url.starts_with("https://") || url.starts_with("http://") {
            true => Ok(Self { reference, url }),
            false => Err(MalformedResponse("there is no page to answer on")),
        }
    }
}

/// Status of an identity check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct IdentityCheckResponse {
    /// The provider's reference of the check.
    reference: String,
    /// Status of the check.
    #[serde(flatten)]
    state: IdentityCheckStatus,
}

/// Status of an identity check.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
        #[cfg_attr(feature = "documents", schema(value_type = String))]
        reason: ExternalText,
    },
}

conversions! {
    IdentityCheckStatus = CheckStatus {
        IdentityCheckStatus::Pending { retry_after_ms } = (CheckStatus::Pending { retry_after_ms });
        IdentityCheckStatus::Passed = (CheckStatus::Decided(Verdict::Passed));
        IdentityCheckStatus::Failed { reason } = (CheckStatus::Decided(Verdict::Failed { reason }));
    }
}

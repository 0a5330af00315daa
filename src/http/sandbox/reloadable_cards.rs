//! Controls of the sandbox issuer of reloadable cards.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::ProviderControls;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;
use crate::sandbox::faults::Fault;

const MAX_DELAY_MS: u64 = 600_000;

routes! { pub static ROUTES: Arc<ProviderControls>, openapi;
    POST "/sandbox/card-program" => post_card_program { Sandbox, control(), refuses [ProviderIsRemote] }
}

/// Fault to inject into the issuer of reloadable cards.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct ReloadableCardFaultRequest {
    /// Fault to inject.
    #[cfg_attr(feature = "documents", schema(inline))]
    fault: ReloadableCardFaultParam,
    /// Number of occurrences; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

/// Faults of the issuer of reloadable cards.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum ReloadableCardFaultParam {
    /// The issuer does not answer.
    Unreachable,
    /// The response is delayed.
    Slow,
    /// The response is malformed, and the call is not executed.
    MalformedResponse,
    /// The call is executed, but its response is lost.
    Timeout,
    /// The next card or hold is declined.
    Decline,
    /// Remove all faults.
    Clear,
}

/// Summary of the issuer of reloadable cards.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxReloadableCardView {
    /// Number of opened cards.
    cards: u64,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingReloadableCardFault>,
    /// Faults injected since startup.
    faults_injected: u64,
}

/// A fault that waits for a call.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PendingReloadableCardFault {
    /// Name of the fault.
    fault: &'static str,
    /// Remaining occurrences; null until cleared.
    remaining: Option<u32>,
}

/// Inject a fault into the issuer of reloadable cards
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/sandbox/card-program", operation_id = "injectCardProgramFault", tag = "Sandbox", request_body = inline(ReloadableCardFaultRequest),
    responses((status = 200, description = "The program after it.", body = inline(SandboxReloadableCardView)),
        (status = 409, description = "The provider is remote."))))]
async fn post_card_program(State(controls): State<Arc<ProviderControls>>, body: Body) -> Result<Response, ApiError> {
    let request: ReloadableCardFaultRequest = controls.body(body).await?;
    let invalid = |param: &'static str, why: &str| {
        let error = format!("{param}: {why}");
        ApiError::parameter(ErrorCode::ParameterInvalid, param, error)
    };
    let ms = request.delay_ms.unwrap_or(3_000);
    if ms > MAX_DELAY_MS {
        return Err(invalid("delay_ms", "at most 600000"));
    }
    if request.delay_ms.is_some() && request.fault != ReloadableCardFaultParam::Slow {
        return Err(invalid("delay_ms", "only for slow"));
    }
    let fault = match request.fault {
        ReloadableCardFaultParam::Unreachable => Some(Fault::Unreachable),
        ReloadableCardFaultParam::Slow => Some(Fault::Slow { ms }),
        ReloadableCardFaultParam::MalformedResponse => Some(Fault::MalformedResponse),
        ReloadableCardFaultParam::Timeout => Some(Fault::Timeout),
        ReloadableCardFaultParam::Decline => Some(Fault::Decline),
        ReloadableCardFaultParam::Clear => None,
    };
    let cards = &controls.providers.reloadable_cards;
    if !cards.faults.set(None, fault, request.times) {
        return Err(invalid("fault", "too many faults are waiting; clear them first"));
    }
    let waiting = cards.faults.waiting();
    let faults = waiting.iter().map(|rule| PendingReloadableCardFault {
        fault: rule.fault.name(),
        remaining: rule.remaining,
    });
    Ok(json::ok(&SandboxReloadableCardView {
        cards: cards.cards(),
        faults: faults.collect(),
        faults_injected: cards.faults.injected(),
    }))
}

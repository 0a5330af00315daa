//! Controls of the sandbox issuer of reloadable cards.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};

use super::{PendingProviderFault, ProviderControls};
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::route::routes;
use crate::provider::sandbox::control::ProviderFaultParam;

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
    fault: ProviderFaultParam,
    /// Number of occurrences; 1 if absent, 0 until cleared.
    times: Option<u32>,
    /// For `slow`: delay in milliseconds; 3,000 if absent.
    delay_ms: Option<u64>,
}

/// Summary of the issuer of reloadable cards.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SandboxReloadableCardView {
    /// Number of opened cards.
    cards: u64,
    /// Faults that wait for a call.
    #[cfg_attr(feature = "documents", schema(inline))]
    faults: Vec<PendingProviderFault>,
    /// Faults injected since startup.
    faults_injected: u64,
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
    if request.delay_ms.is_some() && request.fault != ProviderFaultParam::Slow {
        return Err(invalid("delay_ms", "only for slow"));
    }
    let cards = &controls.providers.reloadable_cards;
    if !cards.faults.set(None, request.fault.fault(ms), request.times) {
        return Err(invalid("fault", "too many faults are waiting; clear them first"));
    }
    Ok(json::ok(&SandboxReloadableCardView {
        cards: cards.cards(),
        faults: PendingProviderFault::all(&cards.faults.waiting()),
        faults_injected: cards.faults.injected(),
    }))
}

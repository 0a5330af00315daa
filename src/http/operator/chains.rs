//! An operator's word that the endpoints' chain is the chain, where it has replaced what was final.

use axum::response::Response;
use http::StatusCode;
use purser_actors::id::Network;
use purser_actors::kernel::JsonObject;
use purser_actors::port::BoxFuture;
use serde::Deserialize;
use utoipa::ToSchema;

use super::extractors::{AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::unavailable;
use crate::http::error::ApiError;
use crate::http::json;
use crate::settlement::evm::{RollBackError, RollBackResult};

/// The chains behind the service, as far as an operator acts on them.
pub trait ChainControl: Send + Sync {
    /// Takes the chain that the endpoints show where it has replaced blocks that were final, or only says what that would do.
    ///
    /// # Errors
    /// See [`RollBackError`]; nothing has changed then.
    fn roll_back(&self, network: Network, is_wanted: bool) -> BoxFuture<'_, Result<RollBackResult, RollBackError>>;
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AcceptChainRequest {
    /// `base` or `solana`.
    network: String,
    evidence: String,
}

impl OperatorRequest for AcceptChainRequest {}

pub(super) async fn post_accept(
    AuthorizedRequest {
        admin,
        act,
        request: wanted,
    }: AuthorizedRequest<AcceptChainRequest>,
) -> Result<Response, ApiError> {
    let network = Network::ALL
        .into_iter()
        .find(|network| network.name() == wanted.network);
    let network = network.ok_or_else(|| {
        let error = "`network` is `base` or `solana`.".to_owned();
        ApiError::parameter("parameter_invalid", "network", error)
    })?;
    check_note("evidence", EVIDENCE, &wanted.evidence)?;
    let chains = admin.chains.as_ref().ok_or_else(unchanged)?;
    let found = chains.roll_back(network, false).await.map_err(map_error)?;
    let subject = format!("{} {}..{}", network.name(), found.from, found.to);
    // Written down first: nothing is dropped that the log does not name. One that was not carried out is asked for again.
    let written = admin
        .engine
        .record_operator_action(&act, "chain.accept", subject, wanted.evidence)
        .await;
    written.map_err(|_| unavailable())?;
    let done = chains.roll_back(network, true).await.map_err(map_error)?;
    let view = JsonObject::new()
        .text("network", network.name())
        .integer("from", done.from)
        .integer("to", done.to)
        .integer("movements", done.movements);
    Ok(json::private(json::bytes_as_json(view.to_json())))
}

fn unchanged() -> ApiError {
    let error = "The endpoints show no other chain than the one that was read.";
    ApiError::new(StatusCode::CONFLICT, "chain_unchanged", error)
}

fn map_error(not_done: RollBackError) -> ApiError {
    match not_done {
        RollBackError::NotNeeded => unchanged(),
        RollBackError::Disagreement { .. } => {
            ApiError::unavailable("service_unavailable", format!("Not now: {not_done}."), 5)
        }
        RollBackError::Failed(error) => {
            tracing::error!(error, "a chain could not be accepted");
            unavailable()
        }
    }
}

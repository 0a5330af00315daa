//! Accepts a chain that has replaced final blocks, on an operator's confirmation.

use std::sync::Arc;

use purser_actors::id::Network;
use purser_actors::operator::AuditAction;
use serde::{Deserialize, Serialize};

use super::AdminState;
#[cfg(feature = "documents")]
use super::api_doc::{Operation, OperationDoc, of};
use super::extractors::{AuthorizedRequest, EVIDENCE, OperatorRequest, check_note};
use super::unavailable;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json::Private;
use crate::http::route::routes;
use crate::http::schemas::NetworkName;
use crate::settlement::evm::RollBackError;

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    POST "/admin/chains/accept" => post_accept {
        Operator, unkeyed("reads the accepted chain; 409 if nothing has changed"), confirmed(), operation(||
            OperationDoc::post::<AcceptChainRequest>(
                Operation { id: "acceptChain", tag: "Availability" },
                "Accept a chain that replaced final blocks, if two endpoints agree on it. The replaced blocks are discarded and read \
                 again",
                of::<AcceptChainResponse>,
            )
            .error(409, "The endpoints show the same chain that was read.")
        )
    }
}

#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct AcceptChainRequest {
    /// `base` or `solana`.
    #[cfg_attr(feature = "documents", schema(value_type = NetworkName))]
    network: String,
    evidence: String,
}

impl OperatorRequest for AcceptChainRequest {}

/// A chain that an operator accepted.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AcceptChainResponse {
    /// `base` or `solana`.
    network: NetworkName,
    /// Lowest block that is read again.
    from: u64,
    /// Newest block that had been read.
    to: u64,
    /// Transfers and cancelled authorizations that were discarded and will be read again.
    movements: u64,
}

async fn post_accept(
    AuthorizedRequest { admin, act, request }: AuthorizedRequest<AcceptChainRequest>,
) -> Result<Private<AcceptChainResponse>, ApiError> {
    let network = Network::ALL
        .into_iter()
        .find(|network| network.name() == request.network);
    let network = network.ok_or_else(|| {
        let error = "`network` is `base` or `solana`.".to_owned();
        ApiError::parameter(ErrorCode::ParameterInvalid, "network", error)
    })?;
    check_note("evidence", EVIDENCE, &request.evidence)?;
    let chains = admin.chains.as_ref().ok_or_else(unchanged)?;
    let found = chains.roll_back(network, false).await.map_err(map_error)?;
    let subject = format!("{} {}..{}", network.name(), found.from, found.to);
    // Recorded first: nothing is discarded without an audit record. After a crash in between, the operator repeats the
    // request.
    let written = admin
        .engine
        .record_operator_action(&act, AuditAction::ChainAccept, subject, request.evidence)
        .await;
    written.map_err(|_| unavailable())?;
    let done = chains.roll_back(network, true).await.map_err(map_error)?;
    Ok(Private(AcceptChainResponse {
        network,
        from: done.from,
        to: done.to,
        movements: done.movements,
    }))
}

fn unchanged() -> ApiError {
    let error = "The endpoints show no other chain than the one that was read.";
    ApiError::new(ErrorCode::ChainUnchanged, error)
}

fn map_error(not_done: RollBackError) -> ApiError {
    match not_done {
        RollBackError::NotNeeded => unchanged(),
        RollBackError::Disagreement { .. } => {
            ApiError::unavailable(ErrorCode::ServiceUnavailable, format!("Not now: {not_done}."), 5)
        }
        RollBackError::Failed(error) => {
            tracing::error!(error, "a chain could not be accepted");
            unavailable()
        }
    }
}

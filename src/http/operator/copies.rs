//! `GET /copy`: what a backup or verification needs from a running service: a consistent, verified copy of the store,
//! the sealed documents, and the transfers of the sandbox's chains. For administrators; used by `purser backup` and
//! `purser verify`.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use purser_actors::id::Network;
use purser_actors::port::BoxFuture;
use serde::Serialize;

use super::AdminState;
use super::extractors::AdministratorRead;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::json;
use crate::http::query::Query;
use crate::http::route::{TimeLimit, routes};

routes! { pub(super) static ROUTES: Arc<AdminState>, undocumented;
    GET "/copy" => get_copy { Operator, without_head(), confirmed(), time_limit(TimeLimit::Copy) }
}

/// Sequence number up to which a copy of the store is complete.
static SEQUENCE: HeaderName = HeaderName::from_static("copy-sequence");
/// Bytes read and sent at a time.
const CHUNK: usize = 256 << 10;

/// A file created for one response, owned by this handle alone.
#[derive(Debug)]
pub struct Copy {
    /// The file, positioned at its start.
    pub file: File,
    pub bytes: u64,
    /// Sequence number up to which the copy is complete.
    pub seq: u64,
}

/// A transfer as its chain lists it.
#[derive(Clone, Debug, Serialize)]
pub struct ListedTransfer {
    /// Position in the chain's history, from 1.
    pub position: u64,
    /// Transaction id on the chain.
    pub transaction: String,
    /// Index among the treasury transfers of the transaction, from 0.
    pub index: u32,
    pub from: String,
    pub to: String,
    /// Amount in atomic USDC.
    pub atomic: u64,
    /// Chain time, in milliseconds since 1970.
    pub at_ms: u64,
    /// Whether a reorg removed the transfer.
    pub reorged: bool,
    /// The chain's identifier of the signed authorization in hexadecimal, if known.
    pub mark: Option<String>,
}

/// A page of a chain's transfers.
#[derive(Serialize)]
struct ListedTransfers {
    transfers: Vec<ListedTransfer>,
}

/// Retry delay for a chain that can't be read now.
const RETRY_SECONDS: u64 = 5;

/// Makes copies while the service runs.
pub trait Copies: Send + Sync {
    /// All rows, as of one sequence number.
    fn store(&self) -> BoxFuture<'_, Result<Copy, String>>;

    /// The documents that applications reference now, in one file. Missing ones are left out.
    fn documents(&self) -> BoxFuture<'_, Result<Copy, String>>;

    /// A page of a chain's transfers after a position.
    fn transfers(&self, network: Network, after: u64) -> BoxFuture<'_, Result<Vec<ListedTransfer>, String>>;
}

async fn get_copy(
    State(admin): State<Arc<AdminState>>,
    AdministratorRead { act, query }: AdministratorRead,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["part", "network", "after"])?;
    let part = query.choice("part", &["store", "documents", "transfers"])?;
    let network = match query.choice("network", &["base", "solana"])? {
        "solana" => Network::Solana,
        _ => Network::Base,
    };
    let after = query.number("after", 0, 0, u64::MAX)?;
    let failed = |error: String| {
        tracing::error!(%error, part, "a copy could not be made");
        ApiError::internal()
    };
    if part == "transfers" {
        let unread = |error: String| {
            tracing::warn!(%error, network = network.name(), "the transfers of a chain could not be listed");
            let why = format!("The transfers on {} cannot be listed now: {error}.", network.name());
            ApiError::unavailable(ErrorCode::ChainUnavailable, why, RETRY_SECONDS)
        };
        let listed = admin.copies.transfers(network, after).await.map_err(unread)?;
        return Ok(json::private_ok(&ListedTransfers { transfers: listed }));
    }
    tracing::info!(by = %act.operator, part, "a copy is made");
    let copy = match part {
        "documents" => admin.copies.documents().await,
        _ => admin.copies.store().await,
    };
    Ok(streamed(copy.map_err(failed)?))
}

fn streamed(copy: Copy) -> Response {
    let chunks = stream::try_unfold(copy.file, |mut file| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = vec![0; CHUNK];
            let read = file.read(&mut chunk)?;
            chunk.truncate(read);
            Ok((read > 0).then(|| (Bytes::from(chunk), file)))
        });
        read.await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
    });
    let mut response = json::private(Response::new(Body::from_stream(chunks)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(copy.bytes));
    headers.insert(&SEQUENCE, HeaderValue::from(copy.seq));
    response
}

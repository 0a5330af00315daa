//! Routes of the bridge.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use purser_actors::port::Bridge;
use utoipa::OpenApi;

use super::{ProtocolBody, ProtocolResult, ok};
use crate::provider::Providers;
use crate::provider::wire::MalformedResponse;
use crate::provider::wire::bridge::{
    BridgeTransferRequest, ChainStatusResponse, SignedBurn, SignedBurnResponse, SubmitBurnResponse,
};
use crate::provider::wire::bridge_messages::{
    AttestationResponse, BridgeMessage, ReattestResponse, SignedMint, SignedMintResponse, SubmitMintResponse,
};

type ServerState = State<Arc<dyn Bridge>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/bridge-transfers", post(sign_burn))
        .route("/bridge-burns", post(send_burn))
        .route("/bridge-burns/lookup", post(find_burn))
        .route("/bridge-burns/attestation", post(burn_attestation))
        .route("/bridge-messages/{nonce}/reattest", post(reattest_message))
        .route("/bridge-messages/mint", post(sign_mint))
        .route("/bridge-mints", post(send_mint))
        .route("/bridge-mints/lookup", post(find_mint))
        .with_state(providers.bridge.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        sign_burn,
        send_burn,
        find_burn,
        burn_attestation,
        reattest_message,
        sign_mint,
        send_mint,
        find_mint
    ))]
    struct ApiDoc;
    ApiDoc::openapi()
}

/// Sign a burn out of the service's treasury; nothing is sent
#[utoipa::path(post, path = "/v1/bridge-transfers", operation_id = "signBurn", tag = "Bridge", request_body = BridgeTransferRequest,
    responses((status = 200, description = "The signed transaction to submit.", body = SignedBurnResponse)))]
async fn sign_burn(
    State(bridge): ServerState,
    ProtocolBody(transfer): ProtocolBody<BridgeTransferRequest>,
) -> ProtocolResult<SignedBurnResponse> {
    let burn = SignedBurn::from(&bridge.sign_burn(&transfer.read()?).await?);
    ok(SignedBurnResponse {
        transfer_id: transfer,
        burn,
    })
}

/// Submit a burn; repeating it burns nothing more
#[utoipa::path(post, path = "/v1/bridge-burns", operation_id = "submitBurn", tag = "Bridge", request_body = SignedBurn,
    responses((status = 200, description = "Solana's response.", body = SubmitBurnResponse)))]
async fn send_burn(
    State(bridge): ServerState,
    ProtocolBody(burn): ProtocolBody<SignedBurn>,
) -> ProtocolResult<SubmitBurnResponse> {
    let burn = burn.read()?;
    let said = bridge.burn(&burn).await?;
    ok(SubmitBurnResponse::of(&burn, said))
}

/// Return what Solana shows of a burn
#[utoipa::path(post, path = "/v1/bridge-burns/lookup", operation_id = "lookupBurn", tag = "Bridge", request_body = SignedBurn,
    responses((status = 200, description = "Status on the chain.", body = ChainStatusResponse)))]
async fn find_burn(
    State(bridge): ServerState,
    ProtocolBody(burn): ProtocolBody<SignedBurn>,
) -> ProtocolResult<ChainStatusResponse> {
    let burn = burn.read()?;
    let said = bridge.find_burn(&burn).await?;
    ok(ChainStatusResponse::of(burn.transaction, said))
}

/// Return the attestation of a burn, found by its transaction
#[utoipa::path(post, path = "/v1/bridge-burns/attestation", operation_id = "getBurnAttestation", tag = "Bridge", request_body = SignedBurn,
    responses((status = 200, description = "Status of the attestation.", body = AttestationResponse)))]
async fn burn_attestation(
    State(bridge): ServerState,
    ProtocolBody(burn): ProtocolBody<SignedBurn>,
) -> ProtocolResult<AttestationResponse> {
    let burn = burn.read()?;
    let said = bridge.attestation(&burn).await?;
    ok(AttestationResponse::of(burn.transaction, said))
}

/// Request a new attestation of an expired message, with the same nonce
#[utoipa::path(post, path = "/v1/bridge-messages/{nonce}/reattest", operation_id = "reattestMessage", tag = "Bridge",
    params(("nonce" = String, Path, description = "Nonce of the message, 64 hex digits.")),
    responses((status = 200, description = "A new attestation was requested.", body = ReattestResponse)))]
async fn reattest_message(State(bridge): ServerState, Path(nonce): Path<String>) -> ProtocolResult<ReattestResponse> {
    let mut named = [0; 32];
    hex::decode_to_slice(&nonce, &mut named).map_err(|_| MalformedResponse("a nonce"))?;
    bridge.reattest(&named).await?;
    ok(ReattestResponse { nonce })
}

/// Sign a mint; nothing is sent
#[utoipa::path(post, path = "/v1/bridge-messages/mint", operation_id = "signMint", tag = "Bridge", request_body = BridgeMessage,
    responses((status = 200, description = "The signed transaction to submit.", body = SignedMintResponse)))]
async fn sign_mint(
    State(bridge): ServerState,
    ProtocolBody(message): ProtocolBody<BridgeMessage>,
) -> ProtocolResult<SignedMintResponse> {
    let mint = SignedMint::from(&bridge.sign_mint(&message.read()?).await?);
    let nonce = message.nonce;
    ok(SignedMintResponse { nonce, mint })
}

/// Submit a mint; a nonce mints once
#[utoipa::path(post, path = "/v1/bridge-mints", operation_id = "submitMint", tag = "Bridge", request_body = SignedMint,
    responses((status = 200, description = "Base's response.", body = SubmitMintResponse)))]
async fn send_mint(
    State(bridge): ServerState,
    ProtocolBody(mint): ProtocolBody<SignedMint>,
) -> ProtocolResult<SubmitMintResponse> {
    let mint = mint.read()?;
    let said = bridge.mint(&mint).await?;
    ok(SubmitMintResponse::of(&mint, said))
}

/// Return what Base shows of a message's mint, by any minter
#[utoipa::path(post, path = "/v1/bridge-mints/lookup", operation_id = "lookupMint", tag = "Bridge", request_body = BridgeMessage,
    responses((status = 200, description = "Status on the chain.", body = ChainStatusResponse)))]
async fn find_mint(
    State(bridge): ServerState,
    ProtocolBody(message): ProtocolBody<BridgeMessage>,
) -> ProtocolResult<ChainStatusResponse> {
    let said = bridge.find_mint(&message.read()?).await?;
    ok(ChainStatusResponse::of(message.nonce, said))
}

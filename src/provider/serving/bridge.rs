//! The bridge.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::post;
use purser_actors::port::Bridge;
use utoipa::OpenApi;

use super::{Answered, Body, answered};
use crate::provider::Providers;
use crate::provider::wire::Unreadable;
use crate::provider::wire::bridge::{BridgeBurn, BridgeBurned, BridgeCrossing, BridgeFound, BridgeSigned};
use crate::provider::wire::messages::{
    BridgeAskedAgain, BridgeAttestation, BridgeMessage, BridgeMint, BridgeMintSigned, BridgeMinted,
};

type Served = State<Arc<dyn Bridge>>;

pub(super) fn router(providers: &Providers) -> Router {
    Router::new()
        .route("/bridge-crossings", post(sign_burn))
        .route("/bridge-burns", post(send_burn))
        .route("/bridge-burns/find", post(find_burn))
        .route("/bridge-burns/attestation", post(burn_attestation))
        .route("/bridge-messages/{nonce}/attest-again", post(attest_again))
        .route("/bridge-messages/mint", post(sign_mint))
        .route("/bridge-mints", post(send_mint))
        .route("/bridge-mints/find", post(find_mint))
        .with_state(providers.bridge.clone())
}

pub(super) fn document() -> utoipa::openapi::OpenApi {
    #[derive(OpenApi)]
    #[openapi(paths(
        sign_burn,
        send_burn,
        find_burn,
        burn_attestation,
        attest_again,
        sign_mint,
        send_mint,
        find_mint
    ))]
    struct Crossings;
    Crossings::openapi()
}

/// Signs a burn out of the service's treasury; sends nothing
#[utoipa::path(post, path = "/v1/bridge-crossings", tag = "bridge", request_body = BridgeCrossing,
    responses((status = 200, description = "What is to be sent.", body = BridgeSigned)))]
async fn sign_burn(State(bridge): Served, Body(crossing): Body<BridgeCrossing>) -> Answered<BridgeSigned> {
    let burn = BridgeBurn::from(&bridge.sign_burn(&crossing.read()?).await?);
    answered(BridgeSigned { crossing, burn })
}

/// Sends a burn; the same one sent again burns nothing more
#[utoipa::path(post, path = "/v1/bridge-burns", tag = "bridge", request_body = BridgeBurn,
    responses((status = 200, description = "What Solana said.", body = BridgeBurned)))]
async fn send_burn(State(bridge): Served, Body(burn): Body<BridgeBurn>) -> Answered<BridgeBurned> {
    let burn = burn.read()?;
    let said = bridge.burn(&burn).await?;
    answered(BridgeBurned::of(&burn, said))
}

/// What Solana shows of a burn
#[utoipa::path(post, path = "/v1/bridge-burns/find", tag = "bridge", request_body = BridgeBurn,
    responses((status = 200, description = "What is there.", body = BridgeFound)))]
async fn find_burn(State(bridge): Served, Body(burn): Body<BridgeBurn>) -> Answered<BridgeFound> {
    let burn = burn.read()?;
    let said = bridge.find_burn(&burn).await?;
    answered(BridgeFound::of(burn.transaction, said))
}

/// What the attesters say of a burn; they are asked by its transaction alone
#[utoipa::path(post, path = "/v1/bridge-burns/attestation", tag = "bridge", request_body = BridgeBurn,
    responses((status = 200, description = "Their word.", body = BridgeAttestation)))]
async fn burn_attestation(State(bridge): Served, Body(burn): Body<BridgeBurn>) -> Answered<BridgeAttestation> {
    let burn = burn.read()?;
    let said = bridge.attestation(&burn).await?;
    answered(BridgeAttestation::of(burn.transaction, said))
}

/// Has a lapsed message attested again; the newer word has the same nonce
#[utoipa::path(post, path = "/v1/bridge-messages/{nonce}/attest-again", tag = "bridge",
    params(("nonce" = String, Path, description = "Names the message, 64 hex digits.")),
    responses((status = 200, description = "They were asked.", body = BridgeAskedAgain)))]
async fn attest_again(State(bridge): Served, Path(nonce): Path<String>) -> Answered<BridgeAskedAgain> {
    let mut named = [0; 32];
    hex::decode_to_slice(&nonce, &mut named).map_err(|_| Unreadable("a nonce"))?;
    bridge.attest_again(&named).await?;
    answered(BridgeAskedAgain { nonce })
}

/// Signs a mint; sends nothing
#[utoipa::path(post, path = "/v1/bridge-messages/mint", tag = "bridge", request_body = BridgeMessage,
    responses((status = 200, description = "What is to be sent.", body = BridgeMintSigned)))]
async fn sign_mint(State(bridge): Served, Body(message): Body<BridgeMessage>) -> Answered<BridgeMintSigned> {
    let mint = BridgeMint::from(&bridge.sign_mint(&message.read()?).await?);
    let nonce = message.nonce;
    answered(BridgeMintSigned { nonce, mint })
}

/// Sends a mint; a nonce mints once
#[utoipa::path(post, path = "/v1/bridge-mints", tag = "bridge", request_body = BridgeMint,
    responses((status = 200, description = "What Base said.", body = BridgeMinted)))]
async fn send_mint(State(bridge): Served, Body(mint): Body<BridgeMint>) -> Answered<BridgeMinted> {
    let mint = mint.read()?;
    let said = bridge.mint(&mint).await?;
    answered(BridgeMinted::of(&mint, said))
}

/// What Base shows of a message's mint, whoever minted
#[utoipa::path(post, path = "/v1/bridge-mints/find", tag = "bridge", request_body = BridgeMessage,
    responses((status = 200, description = "What is there.", body = BridgeFound)))]
async fn find_mint(State(bridge): Served, Body(message): Body<BridgeMessage>) -> Answered<BridgeFound> {
    let said = bridge.find_mint(&message.read()?).await?;
    answered(BridgeFound::of(message.nonce, said))
}

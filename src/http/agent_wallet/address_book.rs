//! `listAddressBook`, `saveAddressBookEntry`, `deleteAddressBookEntry`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::agent_wallet::{AgentWallet, Rejection, SavedAddress};
use purser_actors::engine::OperationError;
use purser_actors::id::AddressId;
use purser_actors::kernel::JsonObject;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::account::BearerClaims;
use super::super::callable::{self, reply, require_sign_in, require_spend_rights};
use super::super::error::ApiError;
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::super::schemas;
use super::{EmptyRequest, SharedState, address, payment_error, text};

/// The address book
#[utoipa::path(post, path = "/listAddressBook", tag = "Managed wallet", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`entries`, oldest first, at most 100.", body = schemas::AddressBookResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No wallet.")))]
pub(super) async fn list_address_book(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<EmptyRequest>(body).await?;
    room.callables.admit(&claims, &call).await?;
    let wallet = room.load_owned(&claims.wallet).await?;
    let entries = wallet.address_book.iter().map(SavedAddress::view);
    Ok(callable::result(&JsonObject::new().list("entries", entries)))
}

/// What `saveAddressBookEntry` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SaveAddressRequest {
    /// An entry to be changed; a new one without it.
    entry_id: Option<String>,
    /// What the agent calls it: 1 to 100 characters.
    name: String,
    /// The address, on either chain.
    address: String,
    /// `base` or `solana`; the address says which.
    network: Option<String>,
}

/// What was understood of it: what an idempotency key stands for.
#[derive(Serialize)]
struct SaveAddressParams {
    entry: Option<String>,
    name: String,
    address: String,
}

/// Keep an address
///
/// A name for an address that `agentWalletTransfer` can send to.
#[utoipa::path(post, path = "/saveAddressBookEntry", tag = "Managed wallet", security(("bearer" = [])), request_body = inline(SaveAddressRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`entry`.", body = schemas::SaveAddressResult),
        (status = 400, description = "A malformed member."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, a token born of a payment, or of an API key where an entry is changed."),
        (status = 404, description = "No wallet, or no such entry."), (status = 409, description = "100 addresses are kept."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now.")))]
pub(super) async fn save_address_book_entry(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<SaveAddressRequest>(body).await?;
    let wanted = &call.data;
    let name = text("name", &wanted.name, 100)?;
    let to = address("address", &wanted.address)?;
    room.check_can_receive(&to, wanted.network.as_deref(), "address")?;
    room.callables.admit(&claims, &call).await?;
    match wanted.entry_id {
        // What somebody else has saved there, they send to by its name.
        Some(_) => require_sign_in(&claims)?,
        None => require_spend_rights(&claims)?,
    }
    let understood = SaveAddressParams {
        entry: wanted.entry_id.clone(),
        name: name.clone(),
        address: to.address(),
    };
    let (running, owner) = (room.clone(), claims.wallet);
    key.run(
        &room.callables.engine,
        &claims,
        "/saveAddressBookEntry",
        &understood,
        move |place| async move {
            let wallet = running.load_owned(&owner).await?;
            let id = match &call.data.entry_id {
                Some(text) => record(&wallet, text)?.id,
                None => AddressId(running.entropy.random()),
            };
            let saved = SavedAddress { id, name, address: to };
            let engine = &running.callables.engine;
            let told = saved.clone();
            let memo = place
                .map(|place| recorder::<AgentWallet>(place, move |said| saved_address_response(&told, said.map(drop))));
            match engine.save_address(owner, saved.clone(), memo).await {
                Ok(()) => saved_address_response(&saved, Ok(())),
                Err(OperationError::Rejected(why)) => saved_address_response(&saved, Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

fn saved_address_response(saved: &SavedAddress, told: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    told.map_err(payment_error)?;
    Ok(reply(&JsonObject::new().object("entry", &saved.view())))
}

/// What `deleteAddressBookEntry` takes.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DeleteAddressRequest {
    /// Which.
    entry_id: String,
}

/// Forget an address
#[utoipa::path(post, path = "/deleteAddressBookEntry", tag = "Managed wallet", security(("bearer" = [])), request_body = inline(DeleteAddressRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`deleted`: the entry's id.", body = schemas::DeleteAddressResult),
        (status = 400, description = "A malformed member."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token born of a payment or an API key."),
        (status = 404, description = "No wallet, or no such entry."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now.")))]
pub(super) async fn delete_address_book_entry(
    State(room): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = room.callables.read::<DeleteAddressRequest>(body).await?;
    room.callables.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let (running, owner, wanted) = (room.clone(), claims.wallet, call.data.entry_id.clone());
    key.run(
        &room.callables.engine,
        &claims,
        "/deleteAddressBookEntry",
        &call.data,
        move |place| async move {
            let id = record(&running.load_owned(&owner).await?, &wanted)?.id;
            let engine = &running.callables.engine;
            let memo = place.map(|place| recorder::<AgentWallet>(place, move |said| deleted(id, said.map(drop))));
            match engine.delete_address(owner, id, memo).await {
                Ok(()) => deleted(id, Ok(())),
                Err(OperationError::Rejected(why)) => deleted(id, Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

fn deleted(id: AddressId, told: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    told.map_err(payment_error)?;
    Ok(reply(&JsonObject::new().text("deleted", id)))
}

/// The entry of this name; what cannot be a name is unknown.
pub(super) fn record<'a>(wallet: &'a AgentWallet, text: &str) -> Result<&'a SavedAddress, ApiError> {
    let id = text.parse().ok();
    id.and_then(|id| wallet.saved_address(id))
        .ok_or_else(|| payment_error(&Rejection::AddressNotFound))
}

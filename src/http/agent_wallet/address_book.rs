//! `listAddressBook`, `saveAddressBookEntry`, `deleteAddressBookEntry`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::agent_wallet::{AgentWallet, Rejection, SavedAddress};
use purser_actors::id::AddressId;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable::{self, reply, require_sign_in, require_spend_rights};
use super::super::error::ApiError;
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::{EmptyRequest, SharedState, address, payment_error, text};

/// The address book.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct AddressBookResult {
    /// Entries, oldest first.
    entries: Vec<AddressBookEntry>,
}

/// A named address.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct AddressBookEntry {
    /// `adr_…` is the id of the entry.
    entry_id: AddressId,
    /// Name given by the agent.
    name: String,
    /// Address of the entry.
    address: String,
    /// `base` or `solana`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::NetworkName))]
    network: &'static str,
}

impl From<&SavedAddress> for AddressBookEntry {
    fn from(saved: &SavedAddress) -> Self {
        Self {
            entry_id: saved.id,
            name: saved.name.clone(),
            address: saved.address.address(),
            network: saved.address.network().name(),
        }
    }
}

/// List the address book
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/listAddressBook", operation_id = "listAddressBook", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`entries`, oldest first, at most 100.", body = AddressBookResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No wallet."))))]
pub(super) async fn list_address_book(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<EmptyRequest>(body).await?;
    state.admit(&claims, &call).await?;
    let wallet = state.load_owned_wallet(&claims.wallet).await?;
    let entries = wallet.address_book.iter().map(AddressBookEntry::from).collect();
    Ok(callable::result(&AddressBookResult { entries }))
}

/// Request of `saveAddressBookEntry`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SaveAddressRequest {
    /// Entry to change. A new entry is created if absent.
    entry_id: Option<String>,
    /// Name that the agent uses for it: 1 to 100 characters.
    name: String,
    /// Base or Solana address.
    address: String,
    /// `base`, `solana` or a CAIP-2 name. By default derived from the address.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::NetworkNameOrId>))]
    network: Option<String>,
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct SaveAddressParams {
    entry: Option<String>,
    name: String,
    address: String,
}

/// A saved entry of the address book.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct SaveAddressResult {
    /// The entry as saved.
    entry: AddressBookEntry,
}

/// Save an address
///
/// Gives a name to an address, for use in `agentWalletTransfer`.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/saveAddressBookEntry", operation_id = "saveAddressBookEntry", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(SaveAddressRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`entry`.", body = SaveAddressResult),
        (status = 400, description = "A malformed member."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, a token issued for a payment, or of an API key where an entry is changed."),
        (status = 404, description = "No wallet, or no such entry."), (status = 409, description = "100 addresses are kept."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn save_address_book_entry(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<SaveAddressRequest>(body).await?;
    let request = &call.data;
    let name = text("name", &request.name, 100)?;
    let to = address("address", &request.address)?;
    state.check_can_receive(&to, request.network.as_deref(), "address")?;
    state.admit(&claims, &call).await?;
    match request.entry_id {
        // Other agents may already send to this entry by its name.
        Some(_) => require_sign_in(&claims)?,
        None => require_spend_rights(&claims)?,
    }
    let understood = SaveAddressParams {
        entry: request.entry_id.clone(),
        name: name.clone(),
        address: to.address(),
    };
    let (running, owner) = (state.clone(), claims.wallet);
    key.run(
        &state.engine,
        &claims,
        "/saveAddressBookEntry",
        &understood,
        move |place| async move {
            let wallet = running.load_owned_wallet(&owner).await?;
            let id = match &call.data.entry_id {
                Some(text) => record(&wallet, text)?.id,
                None => AddressId::mint(owner.shard(), running.entropy.random()),
            };
            let saved = SavedAddress { id, name, address: to };
            let engine = &running.engine;
            let entry = saved.clone();
            let memo = place.map(|place| {
                recorder::<AgentWallet>(place, move |result| saved_address_response(&entry, result.map(drop)))
            });
            match engine.save_address(owner, saved.clone(), memo).await {
                Ok(()) => saved_address_response(&saved, Ok(())),
                Err(OperationError::Rejected(why)) => saved_address_response(&saved, Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

fn saved_address_response(saved: &SavedAddress, result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    result.map_err(payment_error)?;
    Ok(reply(&SaveAddressResult { entry: saved.into() }))
}

/// Request of `deleteAddressBookEntry`.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DeleteAddressRequest {
    /// Entry to delete.
    entry_id: String,
}

/// A deleted entry of the address book.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeleteAddressResult {
    /// Id of the deleted entry.
    deleted: AddressId,
}

/// Delete an address
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/deleteAddressBookEntry", operation_id = "deleteAddressBookEntry", tag = "Agent wallet", security(("bearer" = [])), request_body = inline(DeleteAddressRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`deleted`: the entry's id.", body = DeleteAddressResult),
        (status = 400, description = "A malformed member."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment or an API key."),
        (status = 404, description = "No wallet, or no such entry."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn delete_address_book_entry(
    State(state): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = state.read_call::<DeleteAddressRequest>(body).await?;
    state.admit(&claims, &call).await?;
    require_sign_in(&claims)?;
    let (running, owner, request) = (state.clone(), claims.wallet, call.data.entry_id.clone());
    key.run(
        &state.engine,
        &claims,
        "/deleteAddressBookEntry",
        &call.data,
        move |place| async move {
            let id = record(&running.load_owned_wallet(&owner).await?, &request)?.id;
            let engine = &running.engine;
            let memo = place.map(|place| recorder::<AgentWallet>(place, move |result| deleted(id, result.map(drop))));
            match engine.delete_address(owner, id, memo).await {
                Ok(()) => deleted(id, Ok(())),
                Err(OperationError::Rejected(why)) => deleted(id, Err(&why)),
                Err(denied) => Err(in_progress_response(&denied)),
            }
        },
    )
    .await
}

fn deleted(id: AddressId, result: Result<(), &Rejection>) -> Result<RecordedReply, ApiError> {
    result.map_err(payment_error)?;
    Ok(reply(&DeleteAddressResult { deleted: id }))
}

/// Finds an entry by its id. A malformed id is an unknown entry.
pub(super) fn record<'a>(wallet: &'a AgentWallet, text: &str) -> Result<&'a SavedAddress, ApiError> {
    let id = text.parse().ok();
    id.and_then(|id| wallet.saved_address(id))
        .ok_or_else(|| payment_error(&Rejection::AddressNotFound))
}

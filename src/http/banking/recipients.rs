//! `createBankingRecipient`, `addBankingDestination`, `listBankingRecipients`, `deleteBankingRecipient`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::{Engine, OperationError};
use purser_actors::entity::bank_destination::{BankDestination, BankRecipient, Rejection};
use purser_actors::id::{BankDestinationId, BankRecipientId, Wallet};
use purser_actors::kernel::idempotency::{CommandResult, IdempotencySlot};
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable::{self, may_change};
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, keyed_fingerprint, recorder};
use super::super::recipients::{self, by_recipient};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::SharedState;
use super::destination::{BankDestinationRequest, ParsedAccount, account};
use super::fields::{limit, line};
use crate::http::app::App;
use crate::provider::payouts::seal_account;
use crate::vault::Vault;

/// Maximum destinations per recipient.
const MAX_DESTINATIONS: usize = 20;

/// Request of `createBankingRecipient`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateRecipientRequest {
    /// Name of a person or company, 1 to 100 characters.
    name: String,
    /// Postal address as one line.
    address: Option<String>,
    /// First bank account of the recipient.
    #[cfg_attr(feature = "documents", schema(inline))]
    destination: BankDestinationRequest,
}

/// Covered by the idempotency fingerprint, which is a digest keyed by the vault because it includes the whole account
/// number.
#[derive(Serialize)]
struct DestinationParams<'a> {
    recipient: &'a str,
    address: &'a str,
    scheme: &'static str,
    name: &'a str,
    bank_name: &'a str,
    holder: &'a str,
    routing: &'a str,
    number: &'a str,
}

/// The keyed fingerprint of a new destination.
fn fingerprint(vault: &Vault, recipient: &str, address: &str, account: &ParsedAccount) -> Result<String, ApiError> {
    let (scheme, details, number) = account;
    let request = DestinationParams {
        recipient,
        address,
        scheme: scheme.name(),
        name: &details.name,
        bank_name: &details.bank_name,
        holder: &details.account_holder_name,
        routing: &details.routing_number,
        number: number.expose_secret(),
    };
    keyed_fingerprint(vault, &request)
}

/// Save a bank recipient with a first account
///
/// The same recipients as `GET /bank-recipients`: `GET /send-bank-payment` and `sendBankingPayout` pay their
/// destinations.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createBankingRecipient", operation_id = "createBankingRecipient", tag = "Banking", security(("bearer" = [])), request_body = inline(CreateRecipientRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipientId`, `destination`.", body = BankDestinationResult),
        (status = 400, description = "A member is missing, unknown or malformed; a checksum is wrong."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn create_banking_recipient(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<CreateRecipientRequest>(body).await?;
    let recipient = BankRecipient {
        id: BankRecipientId::mint(claims.wallet.shard(), app.entropy.random()),
        name: line("name", &call.data.name, 100)?,
        address: call
            .data
            .address
            .as_deref()
            .map_or(Ok(String::new()), |text| line("address", text, 200))?,
    };
    let account = account(&call.data.destination, &recipient)?;
    app.admit(&claims, &call).await?;
    // The recipient's id is left out, because each call draws a new one.
    let request = fingerprint(&app.vault, &recipient.name, &recipient.address, &account)?;
    let (state, owner) = (app.clone(), claims.wallet);
    let route = "/createBankingRecipient";
    key.run(&app.engine, &claims, route, &request, move |place| async move {
        state.persist_destination(owner, recipient, account, place).await
    })
    .await
}

/// Request of `addBankingDestination`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct AddDestinationRequest {
    /// Id from `listBankingRecipients`.
    recipient_id: String,
    /// Bank account to add.
    #[cfg_attr(feature = "documents", schema(inline))]
    destination: BankDestinationRequest,
}

/// Add a bank account to a recipient
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/addBankingDestination", operation_id = "addBankingDestination", tag = "Banking", security(("bearer" = [])), request_body = inline(AddDestinationRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipientId`, `destination`.", body = BankDestinationResult),
        (status = 400, description = "A member is missing, unknown or malformed; a checksum is wrong."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No such recipient."),
        (status = 409, description = "It has too many, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn add_banking_destination(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<AddDestinationRequest>(body).await?;
    let unnamed = BankRecipient {
        id: BankRecipientId(0),
        name: "-".into(),
        address: String::new(),
    };
    let read = account(&call.data.destination, &unnamed)?;
    app.admit(&claims, &call).await?;
    let request = fingerprint(&app.vault, &call.data.recipient_id, "", &read)?;
    let (state, owner) = (app.clone(), claims.wallet);
    let route = "/addBankingDestination";
    key.run(&app.engine, &claims, route, &request, move |place| async move {
        let (_, kept) = state.bank_recipient(&owner, &call.data.recipient_id).await?;
        let (_, first) = kept.first().ok_or_else(recipient_unknown)?;
        if kept.len() >= MAX_DESTINATIONS {
            let error = format!("A recipient has at most {MAX_DESTINATIONS} destinations.");
            return Err(ApiError::new(ErrorCode::DestinationLimitReached, error));
        }
        let recipient = first.recipient.clone();
        let account = account(&call.data.destination, &recipient)?;
        state.persist_destination(owner, recipient, account, place).await
    })
    .await
}

/// Request of `listBankingRecipients`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListRecipientsRequest {
    /// Destinations per page, 1 to 100, 20 by default.
    limit: Option<u64>,
    /// Last `destinationId` of the previous page.
    starting_after: Option<String>,
}

/// A page of bank recipients.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct ListBankingRecipientsResult {
    /// Ordered by the first destination of each recipient.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::BankingRecipient>))]
    recipients: Vec<recipients::BankRecipient>,
    /// Whether more destinations follow.
    has_more: bool,
}

/// List the bank recipients
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/listBankingRecipients", operation_id = "listBankingRecipients", tag = "Banking", security(("bearer" = [])), request_body = inline(ListRecipientsRequest),
    responses((status = 200, description = "`recipients`, `hasMore`.", body = ListBankingRecipientsResult),
        (status = 400, description = "A member is unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "`startingAfter` is no destination."))))]
pub(super) async fn list_banking_recipients(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<ListRecipientsRequest>(body).await?;
    let limit = limit(call.data.limit)?;
    app.admit(&claims, &call).await?;
    let after = match call.data.starting_after.as_deref() {
        None => None,
        Some(text) => Some(app.load_active_destinations(&claims.wallet, text).await?.0),
    };
    let found = app.engine.destinations_of(&claims.wallet, after, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let recipients = by_recipient(&found);
    Ok(callable::result(&ListBankingRecipientsResult { recipients, has_more }))
}

/// Request of `deleteBankingRecipient`.
#[derive(Deserialize, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct DeleteRecipientRequest {
    /// Id from `listBankingRecipients`.
    recipient_id: String,
}

/// A deleted bank recipient.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct DeleteBankingRecipientResult {
    /// `brc_…` is the id of the recipient.
    recipient_id: String,
    /// Always true on success.
    deleted: bool,
}

/// Delete a bank recipient and all its destinations
///
/// Payouts in progress continue. The encrypted numbers are destroyed when no payout can need them.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/deleteBankingRecipient", operation_id = "deleteBankingRecipient", tag = "Banking", security(("bearer" = [])), request_body = inline(DeleteRecipientRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipientId`, `deleted`.", body = DeleteBankingRecipientResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No such recipient."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn delete_banking_recipient(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<DeleteRecipientRequest>(body).await?;
    app.admit(&claims, &call).await?;
    may_change(&claims)?;
    let (state, owner, request) = (app.clone(), claims.wallet, call.data.recipient_id.clone());
    let route = "/deleteBankingRecipient";
    key.run(&app.engine, &claims, route, &call.data, move |place| async move {
        let (id, kept) = state.bank_recipient(&owner, &request).await?;
        let ids: Vec<BankDestinationId> = kept.into_iter().map(|(id, _)| id).collect();
        let engine = &state.engine;
        let deleted = move || {
            callable::reply(&DeleteBankingRecipientResult {
                recipient_id: id.to_string(),
                deleted: true,
            })
        };
        // The last removal records the response. After a crash before it, a retry with the same key removes the
        // rest.
        let (last, others) = ids.split_last().ok_or_else(recipient_unknown)?;
        for other in others {
            removed(engine.remove_destination(*other, None).await)?;
        }
        let memo = place.map(|place| recorder::<BankDestination>(place, move |_| Ok(deleted())));
        removed(engine.remove_destination(*last, memo).await)?;
        Ok(deleted())
    })
    .await
}

/// A destination that was removed concurrently counts as removed.
fn removed(result: Result<(), OperationError<Rejection>>) -> Result<(), ApiError> {
    match result {
        Ok(()) | Err(OperationError::Rejected(_)) => Ok(()),
        Err(denied) => Err(in_progress_response(&denied)),
    }
}

pub(super) fn destination_recorder(
    place: IdempotencySlot,
    id: BankDestinationId,
) -> purser_actors::kernel::IdempotencyRecorder<BankDestination> {
    recorder::<BankDestination>(place, move |result: CommandResult<'_, BankDestination>| match result {
        Ok((_, Some(kept))) => Ok(render(id, kept)),
        Ok((_, None)) | Err(_) => Err(destination_unknown()),
    })
}

pub(super) async fn sent(
    engine: &Engine,
    id: BankDestinationId,
    result: Result<(), OperationError<Rejection>>,
) -> Result<RecordedReply, ApiError> {
    match result {
        Ok(()) => {}
        Err(OperationError::Rejected(_)) => return Err(destination_unknown()),
        Err(denied) => return Err(in_progress_response(&denied)),
    }
    let kept = engine.destination(&id).await.map_err(|_| ApiError::internal())?;
    Ok(render(id, &kept.ok_or_else(destination_unknown)?))
}

fn render(id: BankDestinationId, kept: &BankDestination) -> RecordedReply {
    callable::reply(&BankDestinationResult {
        recipient_id: kept.recipient.id.to_string(),
        destination: JsonObject::of(&kept.view(&id)),
    })
}

/// A bank destination after a change.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct BankDestinationResult {
    /// `brc_…` is the id of its recipient.
    recipient_id: String,
    /// Destination after the change.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankDestination))]
    destination: JsonObject,
}

impl App {
    /// Persists a destination of the recipient, with its number sealed.
    async fn persist_destination(
        &self,
        owner: Wallet,
        recipient: BankRecipient,
        (scheme, details, number): ParsedAccount,
        place: Option<IdempotencySlot>,
    ) -> Result<RecordedReply, ApiError> {
        let id = BankDestinationId::mint(owner.shard(), self.entropy.random());
        let sealed = seal_account(&self.vault, id, &number).map_err(|_| ApiError::internal())?;
        let destination = BankDestination {
            owner,
            recipient,
            scheme,
            details,
            created_at: Timestamp::default(),
            active: true,
        };
        let engine = &self.engine;
        let memo = place.map(|place| destination_recorder(place, id));
        let result = engine.register_destination(id, destination, sealed, memo).await;
        sent(engine, id, result).await
    }

    /// Loads an active destination of the caller. Destinations of other accounts are not found.
    pub(super) async fn load_owned_destination(
        &self,
        owner: &Wallet,
        text: &str,
    ) -> Result<(BankDestinationId, BankDestination), ApiError> {
        let (id, kept) = self.load_active_destinations(owner, text).await?;
        if kept.active {
            return Ok((id, kept));
        }
        Err(destination_unknown())
    }

    /// Loads a destination of the caller, including deleted ones: a page may end with one.
    async fn load_active_destinations(
        &self,
        owner: &Wallet,
        text: &str,
    ) -> Result<(BankDestinationId, BankDestination), ApiError> {
        let id: BankDestinationId = text.parse().map_err(|_| destination_unknown())?;
        let read = self.engine.destination(&id).await;
        let kept = read.map_err(|_| ApiError::internal())?;
        let own = kept.filter(|kept| kept.owner == *owner);
        own.map(|kept| (id, kept)).ok_or_else(destination_unknown)
    }

    /// Loads a recipient of the caller with its destinations, oldest first. Recipients of other accounts are not found.
    async fn bank_recipient(&self, owner: &Wallet, text: &str) -> Result<RecordedDestination, ApiError> {
        let id: BankRecipientId = text.parse().map_err(|_| recipient_unknown())?;
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = of(&self.engine, owner, after).await?;
            after = page.0.last().map(|(id, _)| *id);
            found.extend(
                page.0
                    .into_iter()
                    .filter(|(_, kept)| kept.active && kept.recipient.id == id),
            );
            if !page.1 {
                break;
            }
        }
        match found.is_empty() {
            true => Err(recipient_unknown()),
            false => Ok((id, found)),
        }
    }
}

type RecordedDestination = (BankRecipientId, Vec<(BankDestinationId, BankDestination)>);
type RecipientPage = (Vec<(BankDestinationId, BankDestination)>, bool);

async fn of(engine: &Engine, owner: &Wallet, after: Option<BankDestinationId>) -> Result<RecipientPage, ApiError> {
    let page = engine.destinations_of(owner, after, 100).await;
    page.map_err(|_| ApiError::internal())
}

fn destination_unknown() -> ApiError {
    ApiError::new(ErrorCode::DestinationNotFound, "There is no such bank destination.")
}

fn recipient_unknown() -> ApiError {
    ApiError::new(ErrorCode::RecipientNotFound, "There is no such recipient.")
}

//! Saved recipients: `/payment-recipients` of payment apps, `/bank-recipients` of banks.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::bank_destination::BankDestination;
use purser_actors::entity::bank_destination::BankDestinationView;
use purser_actors::entity::payment_recipient::{PaymentRecipient, Status};
use purser_actors::id::{BankDestinationId, BankRecipientId, PaymentRecipientId, Wallet};
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::kernel::{Entity as _, JsonObject};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::account::{BearerClaims, refuse_frozen};
use super::app::App;
use super::callable::may_change;
use super::error::{ApiError, ErrorCode};
use super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
use super::json;
use super::payouts::platform;
use super::query::Query;
use super::readable::is_readable;
use super::route::routes;
use super::schemas;

routes! { pub static ROUTES: Arc<App>, openapi;
    GET "/payment-recipients" => get_payment_recipients { Token }
    POST "/payment-recipients" => post_payment_recipients {
        Token, keyed(), confirmed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, BodyMalformed, ParameterMissing, InvalidDisplayName, InvalidArchived,
            AccountFrozen, IdempotencyKeyReused, RecipientNotFound, RecipientAccessDenied,
        ]
    }
    DELETE "/payment-recipients" => delete_payment_recipients {
        Token, keyed(), refuses [
            TokenMissing, IdempotencyKeyInvalid, ParameterUnrecognized, ParameterMissing, AccountFrozen,
            SignInRequired, IdempotencyKeyReused, RecipientNotFound, RecipientAccessDenied,
        ]
    }
    GET "/bank-recipients" => get_bank_recipients {
        Token, refuses [TokenMissing, ParameterUnrecognized, ParameterInvalid, AccountFrozen, DestinationNotFound]
    }
}

/// Limit in characters.
const MAX_NAME_LEN: usize = 100;

/// A page of recipients of app payments.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct PaymentRecipientList {
    /// Recipients, oldest first.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::PaymentRecipient>))]
    recipients: Vec<JsonObject>,
    /// Whether more recipients follow.
    has_more: bool,
}

/// List the recipients of app payments
///
/// Oldest first, saved with their first payment, with their handle at the app and the total paid to them. The total
/// includes a payment from its purchase, until its funds return. `GET /send-payment` pays a recipient by its
/// `recipient_id` and an amount. Archived recipients are listed only with `include_archived=true`.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/payment-recipients", operation_id = "listPaymentRecipients", tag = "Payouts", security(("bearer" = [])),
    params(("platform" = inline(Option<schemas::PaymentApp>), Query, description = "`venmo` or `paypal`; both if absent."),
        ("include_archived" = Option<bool>, Query, description = "`false` (default) or `true`."),
        ("limit" = Option<u32>, Query, description = "1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `recipient_id` of the page before.")),
    responses((status = 200, description = "`recipients`, `has_more`.", body = PaymentRecipientList),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen, or `starting_after` is another wallet's."), (status = 404, description = "`starting_after` is no recipient."))))]
async fn get_payment_recipients(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let known = ["platform", "include_archived", "limit", "starting_after"];
    let query = Query::parse(query.as_deref(), &known)?;
    refuse_frozen(&app.engine, &claims).await?;
    let platform = platform(&query)?;
    let archived = query.choice("include_archived", &["false", "true"])? == "true";
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    // A cursor from another account would reveal when its recipient was saved.
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => Some(app.load_owned_recipient(&claims.wallet, text).await?.0),
    };
    let shown = |saved: &PaymentRecipient| {
        let listed = saved.status == Status::Active || archived && saved.status == Status::Archived;
        listed && platform.is_none_or(|platform| platform == saved.platform)
    };
    let found = app.engine.recipients_of(&claims.wallet, after, limit, shown).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let recipients = found.iter().map(|(id, saved)| listed(*id, saved)).collect();
    Ok(json::private_ok(&PaymentRecipientList { recipients, has_more }))
}

fn listed(id: PaymentRecipientId, saved: &PaymentRecipient) -> JsonObject {
    JsonObject::of(&saved.view(&id))
        .text("recipient", &saved.payee.recipient)
        .text("first_name", &saved.payee.first_name)
        .text("last_name", &saved.payee.last_name)
        .text("email", &saved.payee.email)
}

const CHANGE: &str = "/payment-recipients";
/// Keys of the two methods are separate.
const DELETE: &str = "DELETE /payment-recipients";

/// Request of `POST /payment-recipients`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct UpdateRecipientRequest {
    /// Recipient from `GET /payment-recipients`.
    recipient_id: String,
    /// Payment app of the recipient.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::PaymentApp))]
    platform: String,
    /// New name of 1 to 100 characters.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<String>))]
    display_name: Option<Value>,
    /// Whether the recipient is hidden from the list.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "documents", schema(value_type = Option<bool>))]
    archived: Option<Value>,
}

/// Distinguishes null, which is a value of the wrong type, from an absent member.
fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// A recipient after a change.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct UpdatedPaymentRecipient {
    /// The owner's address in lower case.
    user_id: String,
    /// `venmo` or `paypal`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::PaymentApp))]
    platform: &'static str,
    /// Id of the recipient.
    recipient_id: String,
    /// Name given by the owner.
    display_name: String,
    /// Whether it is hidden from the list by default.
    archived: bool,
}

/// Rename or archive a recipient
///
/// Give `display_name`, `archived` or both. Archiving hides the recipient and keeps its history.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/payment-recipients", operation_id = "updatePaymentRecipient", tag = "Payouts", security(("bearer" = [])), request_body = inline(UpdateRecipientRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same body is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "The recipient after it.", body = UpdatedPaymentRecipient),
        (status = 400, description = "`invalid_display_name`, `invalid_archived`, a field that is missing, or a malformed key."),
        (status = 401, description = "No good token."), (status = 403, description = "Another wallet's recipient, a token issued for a payment, or frozen."),
        (status = 404, description = "No such recipient on that platform."),
        (status = 409, description = "The first request with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
async fn post_payment_recipients(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let request: UpdateRecipientRequest = app.body(body).await?;
    let name = request.display_name.map(display_name).transpose()?;
    let archived = request.archived.map(|value| match value {
        Value::Bool(archived) => Ok(archived),
        _ => Err(ApiError::parameter(
            ErrorCode::InvalidArchived,
            "archived",
            "`archived` must be true or false.",
        )),
    });
    let archived = archived.transpose()?;
    if name.is_none() && archived.is_none() {
        let error = "Give `display_name`, `archived` or both.";
        return Err(ApiError::parameter(ErrorCode::ParameterMissing, "display_name", error));
    }
    refuse_frozen(&app.engine, &claims).await?;
    let params = UpdateRecipientParams {
        recipient_id: request.recipient_id.clone(),
        platform: request.platform.clone(),
        display_name: name.clone(),
        archived,
    };
    let (running, owner) = (app.clone(), claims.wallet);
    key.run(&app.engine, &claims, CHANGE, &params, move |place| async move {
        // Inside the key: a recorded response is replayed even if the recipient is deleted in between.
        let id = running
            .load_active_recipient(&owner, &request.recipient_id, &request.platform)
            .await?;
        let recorder = place.map(|place| {
            recorder::<PaymentRecipient>(place, move |result: CommandResult<'_, PaymentRecipient>| match result {
                Ok((_, Some(saved))) => Ok(changed(&owner, id, saved)),
                Ok((_, None)) | Err(_) => Err(unknown()),
            })
        });
        match running.engine.update_recipient(id, name, archived, recorder).await {
            Ok(()) => {}
            Err(OperationError::Rejected(_)) => return Err(unknown()),
            Err(denied) => return Err(in_progress_response(&denied)),
        }
        let saved = running.engine.recipient(&id).await.map_err(|_| ApiError::internal())?;
        Ok(changed(&owner, id, &saved.ok_or_else(unknown)?))
    })
    .await
}

/// Covered by the idempotency fingerprint.
#[derive(Serialize)]
struct UpdateRecipientParams {
    recipient_id: String,
    platform: String,
    display_name: Option<String>,
    archived: Option<bool>,
}

/// Covered by the idempotency fingerprint.
#[derive(Clone, Serialize)]
struct DeleteRecipientParams {
    recipient_id: String,
    platform: String,
}

/// The response to a change, as sent and recorded.
fn changed(owner: &Wallet, id: PaymentRecipientId, saved: &PaymentRecipient) -> RecordedReply {
    RecordedReply::ok(&UpdatedPaymentRecipient {
        user_id: owner.user_id(),
        platform: saved.platform.name(),
        recipient_id: id.to_string(),
        display_name: saved.display_name.clone(),
        archived: saved.status == Status::Archived,
    })
}

fn display_name(value: Value) -> Result<String, ApiError> {
    let invalid = || {
        let error = format!("`display_name` must be readable text of 1 to {MAX_NAME_LEN} characters.");
        ApiError::parameter(ErrorCode::InvalidDisplayName, "display_name", error)
    };
    match value {
        Value::String(name) if is_readable(&name, MAX_NAME_LEN) => Ok(name),
        _ => Err(invalid()),
    }
}

/// A deleted recipient.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct DeletedPaymentRecipient {
    /// Id of the recipient.
    recipient_id: String,
    /// Always true on success.
    deleted: bool,
}

/// Delete a recipient
///
/// Prefer archiving: a deleted recipient is removed from every list, and returns only when it is paid again.
#[cfg_attr(feature = "documents", utoipa::path(
    delete, path = "/payment-recipients", operation_id = "deletePaymentRecipient", tag = "Payouts", security(("bearer" = [])),
    params(("platform" = String, Query, description = "The recipient's app."),
        ("recipient_id" = String, Query, description = "From `GET /payment-recipients`."),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same parameters is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipient_id`, `deleted`.", body = DeletedPaymentRecipient),
        (status = 400, description = "A parameter is missing or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another wallet's recipient, a token issued for a payment, or frozen."),
        (status = 404, description = "No such recipient on that platform."),
        (status = 409, description = "The first request with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
async fn delete_payment_recipients(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["platform", "recipient_id"])?.require(&["platform", "recipient_id"]);
    let params = DeleteRecipientParams {
        platform: query.required("platform")?.to_owned(),
        recipient_id: query.required("recipient_id")?.to_owned(),
    };
    refuse_frozen(&app.engine, &claims).await?;
    may_change(&claims)?;
    let (running, owner, request) = (app.clone(), claims.wallet, params.clone());
    key.run(&app.engine, &claims, DELETE, &params, move |place| async move {
        let id = running
            .load_active_recipient(&owner, &request.recipient_id, &request.platform)
            .await?;
        let recorder = place.map(|place| {
            recorder::<PaymentRecipient>(place, move |result: CommandResult<'_, PaymentRecipient>| {
                result.map(|_| deleted(id)).map_err(|_| unknown())
            })
        });
        match running.engine.delete_recipient(id, recorder).await {
            Ok(()) => Ok(deleted(id)),
            Err(OperationError::Rejected(_)) => Err(unknown()),
            Err(denied) => Err(in_progress_response(&denied)),
        }
    })
    .await
}

/// The response to a deletion, as sent and recorded.
fn deleted(id: PaymentRecipientId) -> RecordedReply {
    RecordedReply::ok(&DeletedPaymentRecipient {
        recipient_id: id.to_string(),
        deleted: true,
    })
}

impl App {
    /// Loads the caller's recipient of this app, if it is not deleted.
    async fn load_active_recipient(
        &self,
        owner: &Wallet,
        id: &str,
        platform: &str,
    ) -> Result<PaymentRecipientId, ApiError> {
        let (id, saved) = self.load_owned_recipient(owner, id).await?;
        if saved.status == Status::Deleted || saved.platform.name() != platform {
            return Err(unknown());
        }
        Ok(id)
    }

    /// Loads the caller's recipient, deleted or not.
    async fn load_owned_recipient(
        &self,
        owner: &Wallet,
        id: &str,
    ) -> Result<(PaymentRecipientId, PaymentRecipient), ApiError> {
        let id: PaymentRecipientId = id.parse().map_err(|_| unknown())?;
        let saved = self.engine.recipient(&id).await.map_err(|_| ApiError::internal())?;
        let saved = saved.ok_or_else(unknown)?;
        if saved.owner == *owner {
            return Ok((id, saved));
        }
        let error = "This recipient belongs to another wallet.";
        Err(ApiError::new(ErrorCode::RecipientAccessDenied, error))
    }
}

fn unknown() -> ApiError {
    ApiError::new(ErrorCode::RecipientNotFound, "There is no such recipient.")
}

/// A page of bank recipients with their destinations.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
struct BankRecipientList<'a> {
    /// In order of registration.
    recipients: Vec<BankRecipient<'a>>,
    /// Whether more destinations follow.
    has_more: bool,
}

/// A person or company with bank accounts.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub(super) struct BankRecipient<'a> {
    /// `brc_…` is the id of the recipient.
    pub(super) recipient_id: String,
    /// Name of the person or company.
    pub(super) name: String,
    /// `active` in every case.
    pub(super) status: schemas::ActiveStatus,
    /// Postal address as one line; empty if none was given.
    pub(super) address: String,
    /// Bank accounts of the recipient.
    #[cfg_attr(feature = "documents", schema(value_type = Vec<schemas::BankRecipientDestination>))]
    pub(super) destinations: Vec<BankDestinationView<'a>>,
}

/// List the bank recipients with their destinations
///
/// `destination_id` is for `GET /send-bank-payment`, which pays destinations of type `fiat_us`.
#[cfg_attr(feature = "documents", utoipa::path(
    get, path = "/bank-recipients", operation_id = "listBankRecipients", tag = "Payouts", security(("bearer" = [])),
    params(("limit" = Option<u32>, Query, description = "Destinations, 1 to 100, 20 by default."),
        ("starting_after" = Option<String>, Query, description = "The last `destination_id` of the page before.")),
    responses((status = 200, description = "`recipients`, `has_more`.", body = BankRecipientList),
        (status = 400, description = "A malformed parameter."), (status = 401, description = "No good token."),
        (status = 403, description = "Frozen."), (status = 404, description = "`starting_after` is no destination."))))]
async fn get_bank_recipients(
    State(app): State<Arc<App>>,
    BearerClaims(claims): BearerClaims,
    RawQuery(query): RawQuery,
) -> Result<Response, ApiError> {
    let query = Query::parse(query.as_deref(), &["limit", "starting_after"])?;
    let limit = usize::try_from(query.number("limit", 20, 1, 100)?).unwrap_or(20);
    refuse_frozen(&app.engine, &claims).await?;
    let unknown = || ApiError::new(ErrorCode::DestinationNotFound, "There is no such bank destination.");
    let after = match query.get("starting_after") {
        None => None,
        Some(text) => {
            let id: BankDestinationId = text.parse().map_err(|_| unknown())?;
            let known = app.engine.destination(&id).await.map_err(|_| ApiError::internal())?;
            let own = known.filter(|known| known.owner == claims.wallet);
            Some(own.map(|_| id).ok_or_else(unknown)?)
        }
    };
    let found = app.engine.destinations_of(&claims.wallet, after, limit).await;
    let (found, has_more) = found.map_err(|_| ApiError::internal())?;
    let recipients = by_recipient(&found);
    Ok(json::private_ok(&BankRecipientList { recipients, has_more }))
}

/// Each recipient with its destinations, ordered by its first destination.
pub(super) fn by_recipient(found: &[(BankDestinationId, BankDestination)]) -> Vec<BankRecipient<'_>> {
    let mut order: Vec<BankRecipientId> = Vec::new();
    for (_, destination) in found.iter().filter(|(_, destination)| destination.active) {
        if !order.contains(&destination.recipient.id) {
            order.push(destination.recipient.id);
        }
    }
    let shown = order.into_iter().filter_map(|id| {
        let own = found.iter().filter(|(_, d)| d.active && d.recipient.id == id);
        let first = &own.clone().next()?.1.recipient;
        Some(BankRecipient {
            recipient_id: id.to_string(),
            name: first.name.clone(),
            status: schemas::ActiveStatus::Active,
            address: first.address.clone(),
            destinations: own.map(|(id, destination)| destination.view(id)).collect(),
        })
    });
    shown.collect()
}

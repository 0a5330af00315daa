//! `updateBankingDestination`, and a bank destination as a call describes it.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::bank_destination::{BankRecipient, DestinationType};
use purser_actors::payout::BankDetails;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::super::account::BearerClaims;
use super::super::callable::may_change;
use super::super::error::ApiError;
use super::super::idempotency::IdempotencyKey;
use super::super::schemas;
use super::SharedState;
use super::fields::line;
use super::recipients::{destination_recorder, sent};
use crate::bank_account_number;
use crate::secret::Secret;

/// An account that can be paid.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct BankDestinationRequest {
    /// `fiat_us` (routing and account number) or `fiat_iban` (IBAN).
    r#type: DestinationTypeParam,
    /// The bank. 1 to 100 characters.
    bank_name: String,
    /// Nine digits with their checksum right.
    routing_number: Option<String>,
    /// 4 to 17 digits. Kept sealed; only its last four are shown.
    account_number: Option<String>,
    /// Without spaces, its checksum right. Kept sealed.
    iban: Option<String>,
    /// The recipient's name if absent.
    account_holder_name: Option<String>,
    /// What the caller calls it; the recipient's name if absent.
    nickname: Option<String>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum DestinationTypeParam {
    FiatUs,
    FiatIban,
}

/// What may be known of an account, and its number.
pub(super) type ParsedAccount = (DestinationType, BankDetails, Secret<String>);

/// An account, the checksums right. What it leaves out is the recipient's.
pub(super) fn account(wanted: &BankDestinationRequest, recipient: &BankRecipient) -> Result<ParsedAccount, ApiError> {
    let wrong = |param: &'static str, what: bank_account_number::AccountNumberError| {
        ApiError::parameter("parameter_invalid", param, format!("`{param}`: {what}."))
    };
    let closed = |text: &Option<String>| text.clone().map(Secret::new);
    let numbers = (
        wanted.r#type,
        wanted.routing_number.as_deref(),
        closed(&wanted.account_number),
        closed(&wanted.iban),
    );
    let (scheme, routing_number, number) = match numbers {
        (DestinationTypeParam::FiatUs, Some(routing), Some(number), None) => {
            bank_account_number::routing_number(routing).map_err(|e| wrong("routingNumber", e))?;
            bank_account_number::us_account(&number).map_err(|e| wrong("accountNumber", e))?;
            (DestinationType::FiatUs, routing.to_owned(), number)
        }
        (DestinationTypeParam::FiatIban, None, None, Some(number)) => {
            bank_account_number::iban(&number).map_err(|e| wrong("iban", e))?;
            (DestinationType::FiatIban, String::new(), number)
        }
        _ => {
            let error = "`fiat_us` takes `routingNumber` and `accountNumber`, `fiat_iban` takes `iban`.";
            return Err(ApiError::parameter("parameter_invalid", "type", error));
        }
    };
    let or_theirs = |name: &'static str, given: &Option<String>| {
        let given = given.as_deref().map(|text| line(name, text, 100));
        given.unwrap_or_else(|| Ok(recipient.name.clone()))
    };
    let digits = number.expose_secret();
    let details = BankDetails {
        name: or_theirs("nickname", &wanted.nickname)?,
        bank_name: line("bankName", &wanted.bank_name, 100)?,
        account_holder_name: or_theirs("accountHolderName", &wanted.account_holder_name)?,
        last4: digits
            .get(digits.len().saturating_sub(4)..)
            .unwrap_or_default()
            .to_owned(),
        routing_number,
    };
    Ok((scheme, details, number))
}

/// What `updateBankingDestination` takes.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RenameDestinationRequest {
    /// From `listBankingRecipients`.
    destination_id: String,
    /// 1 to 100 characters.
    nickname: String,
}

#[derive(Serialize)]
struct RenameDestinationParams {
    destination_id: String,
    nickname: String,
}

/// Rename a destination
///
/// Its numbers never change: another account is another destination.
#[utoipa::path(post, path = "/updateBankingDestination", tag = "Banking", security(("bearer" = [])), request_body = inline(RenameDestinationRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipientId`, `destination` after it.", body = schemas::BankDestinationResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No such destination."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now.")))]
pub(super) async fn update_banking_destination(
    State(banking): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = banking.callables.read::<RenameDestinationRequest>(body).await?;
    let nickname = line("nickname", &call.data.nickname, 100)?;
    banking.callables.admit(&claims, &call).await?;
    may_change(&claims)?;
    let asked = RenameDestinationParams {
        destination_id: call.data.destination_id.clone(),
        nickname: nickname.clone(),
    };
    let (room, owner) = (banking.clone(), claims.wallet);
    let route = "/updateBankingDestination";
    key.run(
        &banking.callables.engine,
        &claims,
        route,
        &asked,
        move |place| async move {
            let (id, _) = room.load_owned_destination(&owner, &call.data.destination_id).await?;
            let engine = &room.callables.engine;
            let memo = place.map(|place| destination_recorder(place, id));
            let told = engine.rename_destination(id, nickname, memo).await;
            sent(engine, id, told).await
        },
    )
    .await
}

//! `updateBankingDestination`, and the request type of a bank destination.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::entity::bank_destination::{BankRecipient, DestinationType};
use purser_actors::port::payouts::BankDetails;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable::may_change;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::IdempotencyKey;
use super::SharedState;
use super::fields::line;
#[cfg(feature = "documents")]
use super::recipients::BankDestinationResult;
use super::recipients::{destination_recorder, sent};
use crate::provider::bank_account_number;
use crate::secret::Secret;

/// A bank account to pay to.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct BankDestinationRequest {
    /// `fiat_us` (routing and account number) or `fiat_iban` (IBAN).
    r#type: DestinationTypeParam,
    /// Name of the bank, 1 to 100 characters.
    bank_name: String,
    /// Nine digits with a valid checksum.
    routing_number: Option<String>,
    /// Account number, 4 to 17 digits. Stored encrypted. Only its last four are shown.
    account_number: Option<String>,
    /// IBAN without spaces, with a valid checksum. Stored encrypted.
    iban: Option<String>,
    /// Name of the account holder. By default the recipient's name.
    account_holder_name: Option<String>,
    /// Label for the destination. By default the recipient's name.
    nickname: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
enum DestinationTypeParam {
    FiatUs,
    FiatIban,
}

/// The destination type, the details that may be shown, and the account number.
pub(super) type ParsedAccount = (DestinationType, BankDetails, Secret<String>);

/// Parses an account and verifies its checksums. Absent names default to the recipient's.
pub(super) fn account(request: &BankDestinationRequest, recipient: &BankRecipient) -> Result<ParsedAccount, ApiError> {
    let wrong = |param: &'static str, what: bank_account_number::AccountNumberError| {
        ApiError::parameter(ErrorCode::ParameterInvalid, param, format!("`{param}`: {what}."))
    };
    let closed = |text: &Option<String>| text.clone().map(Secret::new);
    let numbers = (
        request.r#type,
        request.routing_number.as_deref(),
        closed(&request.account_number),
        closed(&request.iban),
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
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "type", error));
        }
    };
    let or_theirs = |name: &'static str, given: &Option<String>| {
        let given = given.as_deref().map(|text| line(name, text, 100));
        given.unwrap_or_else(|| Ok(recipient.name.clone()))
    };
    let digits = number.expose_secret();
    let details = BankDetails {
        name: or_theirs("nickname", &request.nickname)?,
        bank_name: line("bankName", &request.bank_name, 100)?,
        account_holder_name: or_theirs("accountHolderName", &request.account_holder_name)?,
        last4: digits
            .get(digits.len().saturating_sub(4)..)
            .unwrap_or_default()
            .to_owned(),
        routing_number,
    };
    Ok((scheme, details, number))
}

/// Request of `updateBankingDestination`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RenameDestinationRequest {
    /// Id from `listBankingRecipients`.
    destination_id: String,
    /// New label, 1 to 100 characters.
    nickname: String,
}

#[derive(Serialize)]
struct RenameDestinationParams {
    destination_id: String,
    nickname: String,
}

/// Rename a bank destination
///
/// The account numbers of a destination never change. Add another destination instead.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/updateBankingDestination", operation_id = "updateBankingDestination", tag = "Banking", security(("bearer" = [])), request_body = inline(RenameDestinationRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`recipientId`, `destination` after it.", body = BankDestinationResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No such destination."),
        (status = 409, description = "The first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn update_banking_destination(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<RenameDestinationRequest>(body).await?;
    let nickname = line("nickname", &call.data.nickname, 100)?;
    app.admit(&claims, &call).await?;
    may_change(&claims)?;
    let asked = RenameDestinationParams {
        destination_id: call.data.destination_id.clone(),
        nickname: nickname.clone(),
    };
    let (state, owner) = (app.clone(), claims.wallet);
    let route = "/updateBankingDestination";
    key.run(&app.engine, &claims, route, &asked, move |place| async move {
        let (id, _) = state.load_owned_destination(&owner, &call.data.destination_id).await?;
        let engine = &state.engine;
        let memo = place.map(|place| destination_recorder(place, id));
        let result = engine.rename_destination(id, nickname, memo).await;
        sent(engine, id, result).await
    })
    .await
}

//! `getBankingApplication`, `updateBankingApplicationDetails`, `submitBankingApplication`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::engine::OperationError;
use purser_actors::entity::banking::application::{BankingApplication, Question, Rejection};
use purser_actors::id::Wallet;
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::kernel::{Entity as _, JsonObject};
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, keyed_fingerprint, recorder};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::SharedState;
use super::fields::{date, line, phone, tax_number};
use super::profile::EmptyRequest;
use crate::http::app::App;
use crate::provider::banking::seal_tax_id;
use crate::secret::Secret;

/// The identity check, which only the owner can complete.
const IDENTITY: &str = "identity";

/// Request of `updateBankingApplicationDetails`: at least one answer.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct UpdateApplicationRequest {
    /// Date of birth of a person, who is at least 18 (`YYYY-MM-DD`).
    date_of_birth: Option<String>,
    /// Telephone number in E.164: `+` and 8 to 15 digits.
    phone: Option<String>,
    /// Street and number.
    address_line1: Option<String>,
    /// Second address line, for example an apartment.
    address_line2: Option<String>,
    /// City of the address.
    city: Option<String>,
    /// State or region. Required in the U.S.
    state: Option<String>,
    /// Postal code, in the format of its country.
    postal_code: Option<String>,
    /// Occupation of a person.
    occupation: Option<String>,
    /// Source of the funds.
    source_of_funds: Option<String>,
    /// Kind of business, for example its industry.
    business_type: Option<String>,
    /// Formation date of a business (`YYYY-MM-DD`).
    formation_date: Option<String>,
    /// Tax number: 9 digits in the U.S., 4 to 20 letters and digits in other countries. Stored encrypted. Only its last
    /// four are shown.
    tax_id: Option<String>,
}

/// Covered by the idempotency fingerprint, which is a digest keyed by the vault because it includes the whole tax
/// number.
#[derive(Serialize)]
struct UpdateApplicationParams<'a> {
    answers: Vec<(&'static str, &'a str)>,
    tax: Option<&'a str>,
}

/// The bank application of the account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct BankingApplicationResult {
    /// Application of the account.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankingApplication))]
    application: JsonObject,
}

/// Read the bank application
///
/// Its answers and documents, and in `missing` what it needs before it can be submitted. `missing` includes `identity`
/// until the account owner's identity is verified (`GET /get-kyc-link`).
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/getBankingApplication", operation_id = "getBankingApplication", tag = "Banking", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`application`.", body = BankingApplicationResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."), (status = 404, description = "No profile yet."))))]
pub(super) async fn get_banking_application(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<EmptyRequest>(body).await?;
    app.admit(&claims, &call).await?;
    let application = app.banking_application(&claims.wallet).await?;
    let verified = app.is_verified(&claims.wallet).await?;
    Ok(callable::result(&render(&claims.wallet, &application, verified)))
}

/// Update the bank application
///
/// Answers merge: given ones replace earlier ones, and the others stay.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/updateBankingApplicationDetails", operation_id = "updateBankingApplicationDetails", tag = "Banking", security(("bearer" = [])), request_body = inline(UpdateApplicationRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`application` after it.", body = BankingApplicationResult),
        (status = 400, description = "A member is unknown or malformed, or there is none."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No profile yet."),
        (status = 409, description = "It is with the bank or approved, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn update_banking_application_details(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<UpdateApplicationRequest>(body).await?;
    let answers = app.parse_answers(&call.data)?;
    if answers.is_empty() && call.data.tax_id.is_none() {
        let error = "Give at least one answer.";
        return Err(ApiError::parameter(ErrorCode::ParameterMissing, "dateOfBirth", error));
    }
    let tax = call.data.tax_id.as_deref().map(tax_number).transpose()?;
    app.admit(&claims, &call).await?;
    let request = UpdateApplicationParams {
        answers: answers.iter().map(|(q, answer)| (q.name(), answer.as_str())).collect(),
        tax: tax.as_ref().map(|(_, number)| number.expose_secret().as_str()),
    };
    let request = keyed_fingerprint(&app.vault, &request)?;
    let (running, owner) = (app.clone(), claims.wallet);
    let route = "/updateBankingApplicationDetails";
    key.run(&app.engine, &claims, route, &request, move |place| async move {
        let application = running.banking_application(&owner).await?;
        let sealed = tax.map(|tax| running.sealed_tax(&application, tax)).transpose()?;
        let verified = running.is_verified(&owner).await?;
        let engine = &running.engine;
        let memo = place.map(|place| recorder(place, move |outcome| changed(&owner, outcome, verified)));
        let outcome = engine.update_banking_application(owner, answers, sealed, memo).await;
        after(engine, &owner, outcome, verified).await
    })
    .await
}

/// Submit the bank application
///
/// A 409 `application_incomplete` names absent items in `missing`. The bank decides later: follow
/// `getBankingApplication` or the events `banking_application.approved` and `banking_application.rejected`. A rejected
/// application can be changed and submitted again.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/submitBankingApplication", operation_id = "submitBankingApplication", tag = "Banking", security(("bearer" = [])), request_body = inline(EmptyRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`application`, submitted.", body = BankingApplicationResult),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, frozen, or a token issued for a payment."), (status = 404, description = "No profile yet."),
        (status = 409, description = "Something is missing; it was submitted already; or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn submit_banking_application(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<EmptyRequest>(body).await?;
    app.admit(&claims, &call).await?;
    let (running, owner) = (app.clone(), claims.wallet);
    let route = "/submitBankingApplication";
    key.run(&app.engine, &claims, route, &(), move |place| async move {
        let application = running.banking_application(&owner).await?;
        let verified = running.is_verified(&owner).await?;
        if !verified && application.status() == "incomplete" {
            return Err(incomplete(&application.missing(), false));
        }
        let engine = &running.engine;
        let memo = place.map(|place| recorder(place, move |outcome| changed(&owner, outcome, verified)));
        let outcome = engine.submit_banking_application(owner, memo).await;
        after(engine, &owner, outcome, verified).await
    })
    .await
}

/// The response to a change, as recorded under the idempotency key.
fn changed(
    owner: &Wallet,
    outcome: CommandResult<'_, BankingApplication>,
    verified: bool,
) -> Result<RecordedReply, ApiError> {
    match outcome {
        Ok((_, Some(application))) => Ok(callable::reply(&render(owner, application, verified))),
        Ok((_, None)) => Err(ApiError::internal()),
        Err(why) => Err(map_error(why, verified)),
    }
}

/// The response to a change, as sent.
pub(super) async fn after(
    engine: &purser_actors::engine::Engine,
    owner: &Wallet,
    outcome: Result<(), OperationError<Rejection>>,
    verified: bool,
) -> Result<RecordedReply, ApiError> {
    match outcome {
        Ok(()) => {}
        Err(OperationError::Rejected(why)) => return Err(map_error(&why, verified)),
        Err(denied) => return Err(in_progress_response(&denied)),
    }
    let read = engine
        .banking_application(owner)
        .await
        .map_err(|_| ApiError::internal())?;
    let application = read.ok_or_else(ApiError::internal)?;
    Ok(callable::reply(&render(owner, &application, verified)))
}

/// As [`after`], but for the recorded response. Used by other handlers of the application.
pub(super) fn record(
    owner: &Wallet,
    outcome: CommandResult<'_, BankingApplication>,
    verified: bool,
) -> Result<RecordedReply, ApiError> {
    changed(owner, outcome, verified)
}

fn map_error(why: &Rejection, verified: bool) -> ApiError {
    match why {
        Rejection::State(status) => {
            let error = format!("The application is {status}.");
            ApiError::new(ErrorCode::ApplicationLocked, error)
        }
        Rejection::Incomplete(missing) => incomplete(missing, verified),
        Rejection::TooManyDocuments => {
            let error = "No more documents are taken; one that shows the same replaces the earlier one.";
            ApiError::new(ErrorCode::DocumentLimitReached, error)
        }
    }
}

fn incomplete(missing: &[&'static str], verified: bool) -> ApiError {
    let error = "The application lacks what `missing` names.";
    let error = ApiError::new(ErrorCode::ApplicationIncomplete, error).missing(item_names(missing, verified));
    if verified {
        error.hint("Answers by updateBankingApplicationDetails, documents by uploadBankingDocument.")
    } else {
        error.hint("The identity is verified by the account's owner in person: GET /get-kyc-link makes the link.")
    }
}

/// Names answers by their members and documents by their type.
fn item_names(missing: &[&'static str], verified: bool) -> Vec<String> {
    let own = |name: &str| match Question::ALL.iter().any(|question| question.name() == name) || name == "tax_id" {
        true => callable::member(name),
        false => name.to_owned(),
    };
    let identity = (!verified).then(|| IDENTITY.to_owned());
    missing.iter().map(|name| own(name)).chain(identity).collect()
}

/// Renders the whole application, for its owner.
fn render(owner: &Wallet, application: &BankingApplication, verified: bool) -> BankingApplicationResult {
    let given = application.answers.iter();
    let answers = given.fold(JsonObject::new(), |view, (question, answer)| {
        view.text(question.name(), answer)
    });
    let documents = application.documents.iter().map(|paper| {
        JsonObject::new()
            .text("document_id", paper.id)
            .text("type", paper.document_type.name())
            .text("media_type", paper.media.name())
            .integer("bytes", paper.bytes)
            .text("sha256", hex::encode(paper.sha256))
            .time("created_at", paper.at)
    });
    let missing = match application.status() {
        "incomplete" | "rejected" => item_names(&application.missing(), verified),
        _ => Vec::new(),
    };
    let shown = JsonObject::of(&application.view(owner))
        .object("answers", &answers)
        .optional_text("tax_id_last4", application.tax_last4.as_ref())
        .list("documents", documents)
        .texts("missing", missing);
    BankingApplicationResult { application: shown }
}

impl App {
    pub(super) async fn banking_application(&self, owner: &Wallet) -> Result<BankingApplication, ApiError> {
        let read = self.engine.banking_application(owner).await;
        read.map_err(|_| ApiError::internal())?.ok_or_else(|| {
            let error = "There is no banking profile.";
            ApiError::new(ErrorCode::BankingProfileNotFound, error).hint("createBankingProfile makes one.")
        })
    }

    pub(super) async fn is_verified(&self, owner: &Wallet) -> Result<bool, ApiError> {
        let identity = self.engine.identity(owner).await;
        let identity = identity.map_err(|_| ApiError::internal())?;
        Ok(identity.is_some_and(|identity| identity.status() == "verified"))
    }

    /// The last four characters of a tax number, and the whole number sealed under the application's id.
    fn sealed_tax(
        &self,
        application: &BankingApplication,
        (last4, number): (String, Secret<String>),
    ) -> Result<(String, Vec<u8>), ApiError> {
        if application.american && number.expose_secret().len() != 9 {
            let error = "`taxId` must have 9 digits.";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "taxId", error));
        }
        let sealed = seal_tax_id(&self.vault, application.id, &number);
        Ok((last4, sealed.map_err(|_| ApiError::internal())?))
    }

    fn parse_answers(&self, data: &UpdateApplicationRequest) -> Result<Vec<(Question, String)>, ApiError> {
        let now = self.clock.now();
        let mut answers = Vec::new();
        let mut give = |question, answer: Result<Option<String>, ApiError>| -> Result<(), ApiError> {
            answers.extend(answer?.map(|answer| (question, answer)));
            Ok(())
        };
        let text = |name, given: &Option<String>, most| given.as_deref().map(|t| line(name, t, most)).transpose();
        let birth_date = data.date_of_birth.as_deref();
        give(
            Question::DateOfBirth,
            birth_date.map(|t| date("dateOfBirth", t, 18, now)).transpose(),
        )?;
        give(Question::Phone, data.phone.as_deref().map(phone).transpose())?;
        give(Question::AddressLine1, text("addressLine1", &data.address_line1, 100))?;
        give(Question::AddressLine2, text("addressLine2", &data.address_line2, 100))?;
        give(Question::City, text("city", &data.city, 60))?;
        give(Question::State, text("state", &data.state, 60))?;
        give(Question::PostalCode, text("postalCode", &data.postal_code, 16))?;
        give(Question::Occupation, text("occupation", &data.occupation, 100))?;
        give(
            Question::SourceOfFunds,
            text("sourceOfFunds", &data.source_of_funds, 200),
        )?;
        give(Question::BusinessType, text("businessType", &data.business_type, 100))?;
        let formed = data.formation_date.as_deref();
        give(
            Question::FormationDate,
            formed.map(|t| date("formationDate", t, 0, now)).transpose(),
        )?;
        Ok(answers)
    }
}

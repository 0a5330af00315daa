//! `createBankingProfile`, `getBankingProfileStatus`.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use purser_actors::currency::Country;
use purser_actors::engine::OperationError;
use purser_actors::entity::banking::profile::{AlreadyExists, BankingProfile, CustomerType as Who};
use purser_actors::id::Wallet;
use purser_actors::kernel::idempotency::CommandResult;
use purser_actors::kernel::{Entity as _, JsonObject};
use purser_actors::port::Timestamp;
use serde::{Deserialize, Serialize};

use super::super::account::BearerClaims;
use super::super::callable;
use super::super::error::{ApiError, ErrorCode};
use super::super::idempotency::{IdempotencyKey, RecordedReply, in_progress_response, recorder};
#[cfg(feature = "documents")]
use super::super::schemas;
use super::SharedState;
use super::fields::{email, line};
use crate::http::app::App;

/// Request of `createBankingProfile`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct CreateProfileRequest {
    /// `individual` (default) or `business`.
    r#type: Option<CustomerTypeParam>,
    /// First name of the person, or of the representative of the business. 1 to 100 characters.
    first_name: String,
    /// Last name, 1 to 100 characters.
    last_name: String,
    /// Name of the business. Only for a business.
    business_name: Option<String>,
    /// E-mail address for messages from the bank.
    email: String,
    /// ISO 3166-1 alpha-2 country, `US` by default.
    country: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
enum CustomerTypeParam {
    Individual,
    Business,
}

/// Covered by the idempotency fingerprint.
#[derive(Clone, Serialize)]
struct CreateProfileParams {
    first_name: String,
    last_name: String,
    business_name: Option<String>,
    email: String,
    country: String,
}

/// A new banking profile.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct CreateBankingProfileResult {
    /// The profile as saved.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankingProfile))]
    profile: JsonObject,
}

/// Create a banking profile
///
/// An account has one. It opens the application, which needs further answers: `getBankingApplication`. The account
/// owner verifies the identity in person: `GET /get-kyc-link`.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/createBankingProfile", operation_id = "createBankingProfile", tag = "Banking", security(("bearer" = [])), request_body = inline(CreateProfileRequest),
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 255 ASCII characters. The same key with the same data is answered as the first time, for 24 hours.")),
    responses((status = 200, description = "`profile`.", body = CreateBankingProfileResult),
        (status = 400, description = "A member is missing, unknown or malformed."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."),
        (status = 409, description = "There is a profile, or the first call with this key is still running."),
        (status = 422, description = "The key was used for something else."), (status = 503, description = "Not now."))))]
pub(super) async fn create_banking_profile(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    key: IdempotencyKey,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<CreateProfileRequest>(body).await?;
    let request = app.parse_profile(&call.data)?;
    app.admit(&claims, &call).await?;
    let (engine, owner) = (app.engine.clone(), claims.wallet);
    let profile = request.profile(owner)?;
    let engine_of_key = app.engine.clone();
    key.run(
        &engine_of_key,
        &claims,
        "/createBankingProfile",
        &request,
        move |place| async move {
            let memo = place.map(|place| {
                recorder::<BankingProfile>(place, move |outcome: CommandResult<'_, BankingProfile>| match outcome {
                    Ok((_, Some(profile))) => Ok(created(&owner, profile)),
                    Ok((_, None)) => Err(ApiError::internal()),
                    Err(AlreadyExists) => Err(exists()),
                })
            });
            match engine.create_banking_profile(owner, profile, memo).await {
                Ok(()) => {}
                Err(OperationError::Rejected(AlreadyExists)) => return Err(exists()),
                Err(denied) => return Err(in_progress_response(&denied)),
            }
            let profile = engine.banking_profile(&owner).await.map_err(|_| ApiError::internal())?;
            Ok(created(&owner, &profile.ok_or_else(ApiError::internal)?))
        },
    )
    .await
}

impl App {
    fn parse_profile(&self, data: &CreateProfileRequest) -> Result<CreateProfileParams, ApiError> {
        let business = data.r#type == Some(CustomerTypeParam::Business);
        let business_name = match (&data.business_name, business) {
            (Some(name), true) => Some(line("businessName", name, 100)?),
            (None, false) => None,
            (None, true) => {
                let error = "A business has a `businessName`.";
                return Err(ApiError::parameter(ErrorCode::ParameterMissing, "businessName", error));
            }
            (Some(_), false) => {
                let error = "Only a business has a `businessName`.";
                return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "businessName", error));
            }
        };
        let country = data.country.as_deref().unwrap_or("US");
        if country.parse::<Country>().is_err() {
            let error = "`country` must be a code of 2 capital letters (ISO 3166-1).";
            return Err(ApiError::parameter(ErrorCode::ParameterInvalid, "country", error));
        }
        if !self
            .config
            .availability
            .countries
            .iter()
            .any(|served| served == country)
        {
            let error = "Banking is not open to holders in that country.";
            return Err(ApiError::parameter(ErrorCode::CountryNotServed, "country", error)
                .hint(format!("Countries: {}.", self.config.availability.countries.join(", "))));
        }
        Ok(CreateProfileParams {
            first_name: line("firstName", &data.first_name, 100)?,
            last_name: line("lastName", &data.last_name, 100)?,
            business_name,
            email: email("email", &data.email)?,
            country: country.to_owned(),
        })
    }
}

impl CreateProfileParams {
    fn profile(&self, owner: Wallet) -> Result<BankingProfile, ApiError> {
        let request = self.clone();
        Ok(BankingProfile {
            owner,
            customer_type: request.business_name.map_or(Who::Individual, Who::Business),
            first_name: request.first_name,
            last_name: request.last_name,
            email: request.email,
            country: request.country.parse().map_err(|_| ApiError::internal())?,
            created_at: Timestamp(0),
        })
    }
}

fn created(owner: &Wallet, profile: &BankingProfile) -> RecordedReply {
    callable::reply(&CreateBankingProfileResult {
        profile: JsonObject::of(&profile.view(owner)),
    })
}

fn exists() -> ApiError {
    let error = "This account has a banking profile.";
    ApiError::new(ErrorCode::BankingProfileExists, error).hint("getBankingProfileStatus says what it still needs.")
}

/// Request of `getBankingProfileStatus`, without members.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct EmptyRequest {}

/// Status of banking for an account.
#[derive(Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
struct BankingProfileStatus {
    /// `none`, `incomplete`, `submitted`, `approved` or `rejected`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankingApplicationProgress))]
    application: &'static str,
    /// Whether bank accounts can be opened.
    can_open_accounts: bool,
    /// The wallet's address in lower case.
    user_id: String,
    /// `none` or `open`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::BankingState))]
    status: &'static str,
    /// Identity check of the owner: `none`, `in-review`, `verified` or `rejected`.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::IdentityStatus))]
    identity: &'static str,
    /// The profile, if there is one.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::BankingProfile>))]
    profile: Option<JsonObject>,
}

/// Read the status of banking
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/getBankingProfileStatus", operation_id = "getBankingProfileStatus", tag = "Banking", security(("bearer" = [])), request_body = inline(EmptyRequest),
    responses((status = 200, description = "`status` of the profile (`none` or `open`), `identity`, and the profile.", body = BankingProfileStatus),
        (status = 400, description = "A member that it does not take."), (status = 401, description = "No good token."),
        (status = 403, description = "Another account's `userId`, or frozen."))))]
pub(super) async fn get_banking_profile_status(
    State(app): SharedState,
    BearerClaims(claims): BearerClaims,
    body: Body,
) -> Result<Response, ApiError> {
    let call = app.read_call::<EmptyRequest>(body).await?;
    app.admit(&claims, &call).await?;
    let engine = &app.engine;
    let failed = |_| ApiError::internal();
    let profile = engine.banking_profile(&claims.wallet).await.map_err(failed)?;
    let identity = engine.identity(&claims.wallet).await.map_err(failed)?;
    let application = engine.banking_application(&claims.wallet).await.map_err(failed)?;
    let application = application.as_ref().map_or("none", |application| application.status());
    Ok(callable::result(&BankingProfileStatus {
        application,
        can_open_accounts: application == "approved",
        user_id: claims.wallet.user_id(),
        status: profile.as_ref().map_or("none", |profile| profile.status()),
        identity: identity.as_ref().map_or("none", |identity| identity.status()),
        profile: profile.map(|profile| JsonObject::of(&profile.view(&claims.wallet))),
    }))
}

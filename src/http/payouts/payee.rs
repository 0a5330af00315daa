//! Recipient of an app payment, as the caller names it.

use purser_actors::id::PaymentRecipientId;
use purser_actors::money::Cents;
use purser_actors::port::payouts::{AppPayee, Platform};

use crate::http::app::App;
use crate::http::error::{ApiError, ErrorCode};
use crate::http::query::Query;
use crate::http::readable::is_readable;

/// Parameters that pay a saved recipient.
const BY_ID: &[&str] = &["amount", "recipient_id"];
/// Limit in characters.
const MAX_NAME_LEN: usize = 100;
/// In characters (RFC 5321).
const MAX_EMAIL_LEN: usize = 254;
/// Parameters that pay any other recipient.
const PARAMETERS: &[&str] = &[
    "amount",
    "platform",
    "recipient_id",
    "recipient_first_name",
    "recipient_last_name",
    "recipient_email",
];

impl App {
    /// Parses amount, app and recipient. For a saved recipient the id is enough.
    pub(super) async fn parse_app_payment(
        &self,
        query: Option<&str>,
    ) -> Result<(Cents, Option<Platform>, AppPayee), ApiError> {
        let query = Query::parse(query, PARAMETERS)?;
        let saved = query
            .get("recipient_id")
            .and_then(|text| text.parse::<PaymentRecipientId>().ok());
        let needed = if saved.is_some() { BY_ID } else { PARAMETERS };
        let query = query.require(needed);
        let amount = query.amount(&self.config.products.app_payment)?;
        let platform = match saved {
            None => Some(self.platform(&query)?),
            Some(id) => self.platform_of(&query, id).await?,
        };
        let payee = AppPayee {
            recipient: required_name(&query, "recipient_id", MAX_EMAIL_LEN)?,
            first_name: optional_name(&query, needed, "recipient_first_name")?,
            last_name: optional_name(&query, needed, "recipient_last_name")?,
            email: email(&query, needed)?,
        };
        Ok((amount, platform, payee))
    }

    /// An app that is available in at least one country.
    fn platform(&self, query: &Query) -> Result<Platform, ApiError> {
        query.required("platform")?;
        self.served(platform(query)?.ok_or_else(ApiError::internal)?)
    }

    /// The app named beside a saved recipient, if any. The recipient's own app must be available too. A caller learns
    /// no more from that error, because ids have 116 random bits.
    async fn platform_of(&self, query: &Query, id: PaymentRecipientId) -> Result<Option<Platform>, ApiError> {
        let named = platform(query)?;
        let saved = self.engine.recipient(&id).await.map_err(|_| ApiError::internal())?;
        if let Some(platform) = named.or(saved.map(|saved| saved.platform)) {
            self.served(platform)?;
        }
        Ok(named)
    }

    fn served(&self, platform: Platform) -> Result<Platform, ApiError> {
        let countries = self
            .config
            .products
            .app_payment
            .countries_by_platform
            .get(platform.name());
        if countries.is_some_and(|countries| countries.codes().is_none_or(|codes| !codes.is_empty())) {
            return Ok(platform);
        }
        let error = "This payment app is not available now.";
        Err(ApiError::parameter(ErrorCode::CountryNotServed, "platform", error)
            .hint("GET /get-supported-countries lists where each app pays."))
    }
}

/// The `platform` of a query, if given.
///
/// # Errors
/// 400 `parameter_invalid` for any other value.
pub(in crate::http) fn platform(query: &Query) -> Result<Option<Platform>, ApiError> {
    if query.get("platform").is_none() {
        return Ok(None);
    }
    let word = query.choice("platform", &Platform::ALL.map(Platform::name))?;
    Ok(Platform::ALL.into_iter().find(|platform| platform.name() == word))
}

fn required_name(query: &Query, name: &'static str, most: usize) -> Result<String, ApiError> {
    query.required(name)?;
    let text = query.text(name, most)?.unwrap_or_default().trim();
    if !is_readable(text, most) {
        let error = format!("`{name}` must be readable text of at most {most} characters.");
        return Err(ApiError::parameter(ErrorCode::ParameterInvalid, name, error));
    }
    Ok(text.to_owned())
}

/// A name that is optional if not in `needed`. Empty if absent.
fn optional_name(query: &Query, needed: &[&str], name: &'static str) -> Result<String, ApiError> {
    if query.get(name).is_none() && !needed.contains(&name) {
        return Ok(String::new());
    }
    required_name(query, name, MAX_NAME_LEN)
}

/// Checks only the form. The app knows whether the address exists.
fn email(query: &Query, needed: &[&str]) -> Result<String, ApiError> {
    const NAME: &str = "recipient_email";
    if query.get(NAME).is_none() && !needed.contains(&NAME) {
        return Ok(String::new());
    }
    let text = required_name(query, NAME, MAX_EMAIL_LEN)?;
    if is_email(&text) {
        return Ok(text);
    }
    let error = "`recipient_email` is not an e-mail address.";
    Err(ApiError::parameter(
        ErrorCode::ParameterInvalid,
        "recipient_email",
        error,
    ))
}

/// Whether a text has the form of an e-mail address.
pub(in crate::http) fn is_email(text: &str) -> bool {
    text.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.contains('@') && domain.contains('.') && !text.contains(char::is_whitespace)
    })
}

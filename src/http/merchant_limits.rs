//! Limits of the managed wallet per merchant: `POST /account/merchant-limits`, for the owner's page.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use purser_actors::engine::OperationError;
use purser_actors::entity::agent_wallet::{MerchantCap, MerchantCaps};
use purser_actors::entity::wallet_payment::PaymentMethod;
use purser_actors::money::Cents;
use reqwest::Url;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::agent_wallet;
use super::app::App;
use super::error::{ApiError, ErrorCode};
use super::json;
use super::key_limits::amount;
use super::owner::{AgentWalletAnswer, is_raised, owner, unavailable};
use super::passkeys::require_confirmed;
use super::route::routes;
#[cfg(feature = "documents")]
use super::schemas;

type SharedState = State<Arc<App>>;

routes! { pub static ROUTES: Arc<App>, openapi;
    POST "/account/merchant-limits" => post_merchant_limits { Owner, unkeyed("sets the given values"), confirmed_raise() }
}

/// Request of `POST /account/merchant-limits`.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SetMerchantLimitsRequest {
    /// Merchants with a limit of their own, at most 100.
    hosts: Vec<SetMerchantLimit>,
    /// US dollars per day (UTC) at each other merchant; 0 allows no other, null or absent is without a limit.
    #[cfg_attr(feature = "documents", schema(value_type = Option<schemas::ExactDecimal>))]
    others_per_day_usd: Option<Box<RawValue>>,
}

/// Limit of one merchant.
#[derive(Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
struct SetMerchantLimit {
    /// Host without a port, such as `api.example.com`. Each host is a merchant of its own; its ports count together.
    /// `route` is this service.
    host: String,
    /// US dollars per day (UTC); 0 forbids it.
    #[cfg_attr(feature = "documents", schema(value_type = schemas::ExactDecimal))]
    per_day_usd: Box<RawValue>,
}

/// Set the limits per merchant of the managed wallet
///
/// What agents may pay one server in a day, besides the limits of the wallet. All limits at once. A merchant is the host
/// of a paid call. Transfers to addresses have no merchant. A payment over a limit is refused, or waits for the owner's
/// approval, as for the limits of `POST /account/spending`.
#[cfg_attr(feature = "documents", utoipa::path(
    post, path = "/account/merchant-limits", operation_id = "setMerchantLimits", tag = "Account pages", request_body = inline(SetMerchantLimitsRequest),
    responses((status = 200, description = "Set.", body = AgentWalletAnswer),
        (status = 400, description = "No host, a host twice, more than 100, or no such amount: `param` names it."), (status = 401, description = "No session."),
        (status = 403, description = "Another page's request, a session from a payment or an API key, or frozen."),
        (status = 404, description = "There is no managed wallet."),
        (status = 408, description = "The body did not come."), (status = 413, description = "Too long."),
        (status = 503, description = "Not now."))))]
async fn post_merchant_limits(State(app): SharedState, headers: HeaderMap, body: Body) -> Result<Response, ApiError> {
    let claims = owner(&app, &headers).await?;
    let caps = app.body::<SetMerchantLimitsRequest>(body).await?.parse()?;
    let wallet = app.engine.agent_wallet(&claims.wallet).await;
    let old = wallet
        .map_err(|_| ApiError::internal())?
        .map(|wallet| wallet.merchant_caps);
    if old.is_some_and(|old| permits_more(&old, &caps)) {
        require_confirmed(&app, &claims).await?;
    }
    match app.engine.set_merchant_caps(claims.wallet, caps).await {
        Ok(()) => {}
        Err(OperationError::Rejected(why)) => return Err(agent_wallet::payment_error(&why)),
        Err(_) => return Err(unavailable()),
    }
    let agent_wallet = app.wallet_of(&claims).await?.ok_or_else(ApiError::internal)?;
    Ok(json::private_ok(&AgentWalletAnswer { agent_wallet }))
}

/// Whether some merchant may be paid more than before.
fn permits_more(old: &MerchantCaps, new: &MerchantCaps) -> bool {
    let mut named = old.hosts.iter().chain(&new.hosts).map(|cap| cap.host.as_str());
    is_raised(old.others, new.others) || named.any(|host| is_raised(old.cap_of(host), new.cap_of(host)))
}

impl SetMerchantLimitsRequest {
    fn parse(&self) -> Result<MerchantCaps, ApiError> {
        if self.hosts.len() > MerchantCaps::MAX_HOSTS {
            return Err(invalid("hosts", "At most 100 merchants have a limit of their own."));
        }
        let mut hosts = Vec::with_capacity(self.hosts.len());
        for (nth, sent) in self.hosts.iter().enumerate() {
            let param = |field: &str| format!("hosts[{nth}].{field}");
            hosts.push(MerchantCap {
                host: merchant(&sent.host).ok_or_else(|| invalid(param("host"), NOT_A_HOST))?,
                per_day: amount_of(param("per_day_usd"), &sent.per_day_usd)?,
            });
        }
        hosts.sort_by(|one, other| one.host.cmp(&other.host));
        if hosts.windows(2).any(|pair| pair[0].host == pair[1].host) {
            return Err(invalid("hosts", "A merchant is named twice."));
        }
        Ok(MerchantCaps {
            hosts,
            others: amount("others_per_day_usd", self.others_per_day_usd.as_deref())?,
        })
    }
}

const NOT_A_HOST: &str = "Not a host, such as `api.example.com`. Give it without a scheme, a port or a path.";

/// A host as paid calls name it: in lower case, with the ASCII form of other letters, and without a final dot.
fn merchant(text: &str) -> Option<String> {
    let text = text.trim();
    if text == PaymentMethod::OWN {
        return Some(text.to_owned());
    }
    // The parser of the URLs that are called. It would accept a port, a path or a user.
    let url = Url::parse(&format!("https://{text}/")).ok()?;
    let is_host_only = url.port().is_none()
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none()
        && !text.contains(['/', '\\', '@', '?', '#']);
    let host = url.host_str()?;
    // The parser leaves out the port of the scheme.
    let has_port = match host.starts_with('[') {
        true => !text.ends_with(']'),
        false => text.contains(':'),
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    (is_host_only && !has_port && !host.is_empty()).then(|| host.to_owned())
}

fn amount_of(param: String, json: &RawValue) -> Result<Cents, ApiError> {
    let missing = || invalid(param.clone(), "Not an amount of US dollars.");
    amount("per_day_usd", Some(json))
        .map_err(|_| missing())?
        .ok_or_else(missing)
}

fn invalid(param: impl Into<String>, error: &'static str) -> ApiError {
    ApiError::parameter(ErrorCode::ParameterInvalid, param.into(), error)
}

#[cfg(test)]
mod tests {
    use super::{merchant, permits_more};
    use purser_actors::entity::agent_wallet::{MerchantCap, MerchantCaps};
    use purser_actors::money::Cents;

    #[test]
    fn merchants_are_hosts_as_paid_calls_name_them() {
        let table = [
            ("api.example.com", Some("api.example.com")),
            (" API.Example.COM ", Some("api.example.com")),
            ("example.com.", Some("example.com")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("xn--bcher-kva.example", Some("xn--bcher-kva.example")),
            ("203.0.113.7", Some("203.0.113.7")),
            ("[2001:db8::1]", Some("[2001:db8::1]")),
            ("route", Some("route")),
            ("example.com:443", None),
            ("example.com:8443", None),
            ("[2001:db8::1]:8443", None),
            ("https://example.com", None),
            ("example.com/path", None),
            ("user@example.com", None),
            ("example.com?x", None),
            ("", None),
            (".", None),
            ("exa mple.com", None),
        ];
        for (text, host) in table {
            assert_eq!(merchant(text).as_deref(), host, "{text:?}");
        }
    }

    #[test]
    fn raising_any_merchant_needs_a_confirmation() {
        let caps = |hosts: &[(&str, u64)], others: Option<u64>| MerchantCaps {
            hosts: hosts
                .iter()
                .map(|(host, cents)| MerchantCap {
                    host: (*host).to_owned(),
                    per_day: Cents::new(*cents),
                })
                .collect(),
            others: others.map(Cents::new),
        };
        let table = [
            (caps(&[], None), caps(&[("a", 5)], None), false),
            (caps(&[("a", 5)], None), caps(&[("a", 4)], None), false),
            (caps(&[("a", 5)], None), caps(&[("a", 6)], None), true),
            // Without its own limit it has that of the others.
            (caps(&[("a", 5)], None), caps(&[], None), true),
            (caps(&[("a", 5)], Some(4)), caps(&[], Some(4)), false),
            (caps(&[("a", 5)], Some(6)), caps(&[], Some(6)), true),
            (caps(&[], Some(0)), caps(&[("a", 1)], Some(0)), true),
            (caps(&[], Some(2)), caps(&[("a", 1)], Some(2)), false),
            (caps(&[], Some(2)), caps(&[], Some(3)), true),
            (caps(&[], Some(2)), caps(&[], None), true),
            (caps(&[], None), caps(&[], Some(2)), false),
        ];
        for (old, new, expected) in table {
            assert_eq!(permits_more(&old, &new), expected, "{old:?} {new:?}");
        }
    }
}

//! Headers of every response, prepared so that a response only clones them.

use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use super::rate_limit::RateLimitStatus;
use purser_config::Limits;

/// Version of the contract. A new value means a breaking change.
pub const API_VERSION: &str = "2026-11-20";

const EXPOSED: &str = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, \
    Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, X-RateLimit-Limit, \
    X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Policy, Idempotency-Replayed, Deprecation, Sunset, Link, \
    Request-Id, X-Service-Api-Version, X-Service-Docs-Version, X-Service-Mode";

/// Stock payment clients send Access-Control-Expose-Headers as a request header, so browsers ask for it too.
const ALLOWED: &str = "Content-Type, Authorization, PAYMENT-SIGNATURE, X-PAYMENT, SIGN-IN-WITH-X, Accept-Payment, \
    Payment-Authorization, Idempotency-Key, Access-Control-Expose-Headers";

static REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static API: HeaderName = HeaderName::from_static("x-service-api-version");
static DOCS: HeaderName = HeaderName::from_static("x-service-docs-version");
static MODE: HeaderName = HeaderName::from_static("x-service-mode");
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
static LIMIT: [HeaderName; 2] = pair("ratelimit-limit", "x-ratelimit-limit");
static REMAINING: [HeaderName; 2] = pair("ratelimit-remaining", "x-ratelimit-remaining");
static RESET: [HeaderName; 2] = pair("ratelimit-reset", "x-ratelimit-reset");
static POLICY: [HeaderName; 2] = pair("ratelimit-policy", "x-ratelimit-policy");

const fn pair(plain: &'static str, prefixed: &'static str) -> [HeaderName; 2] {
    [HeaderName::from_static(plain), HeaderName::from_static(prefixed)]
}

pub struct FixedHeaders {
    /// All headers: cloning the whole map is cheaper than fourteen insertions. The changing ones are the first and the
    /// last four, without a value, so that they are set by their place instead of being looked up.
    template: HeaderMap,
    /// Texts of small numbers, for most limits and every reset.
    numbers: Vec<HeaderValue>,
}

impl FixedHeaders {
    /// `docs_version` is the documents' hash. The limit is the service-wide one.
    pub fn new(docs_version: &str, limits: &Limits, sandbox: bool, open_to_pages: bool) -> Self {
        let (limit, window_seconds) = (limits.requests_per_window, limits.window_seconds);
        let text = |t: &str| HeaderValue::from_str(t).unwrap_or(HeaderValue::from_static("unknown"));
        let mut template = HeaderMap::with_capacity(24);
        template.insert(&REQUEST_ID, HeaderValue::from_static(""));
        template.insert(&API, HeaderValue::from_static(API_VERSION));
        template.insert(&DOCS, text(docs_version));
        if sandbox {
            template.insert(&MODE, HeaderValue::from_static("sandbox"));
        }
        if open_to_pages {
            template.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
            template.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        }
        for (names, value) in [
            (&LIMIT, HeaderValue::from(limit)),
            (&POLICY, text(&format!("{limit};w={window_seconds}"))),
            (&REMAINING, HeaderValue::from_static("")),
            (&RESET, HeaderValue::from_static("")),
        ] {
            template.insert(&names[0], value.clone());
            template.insert(&names[1], value);
        }
        let numbers = (0..=limit.clamp(window_seconds.min(3600), 3600))
            .map(HeaderValue::from)
            .collect();
        Self { template, numbers }
    }

    fn number(&self, n: u32) -> HeaderValue {
        self.numbers
            .get(n as usize)
            .cloned()
            .unwrap_or_else(|| HeaderValue::from(n))
    }

    /// Adds the headers. Values that a route has set (a lower limit) stay.
    pub fn write(&self, headers: &mut HeaderMap, request_id: HeaderValue, budget: &RateLimitStatus) {
        let own = std::mem::replace(headers, self.template.clone());
        let (remaining, reset) = (self.number(budget.remaining), self.number(budget.reset_seconds));
        let budget = [remaining.clone(), remaining, reset.clone(), reset];
        let fixed = self.template.len() - 1 - budget.len();
        // A map without removals iterates in the order of insertion. A test below fails if that changes.
        let mut places = headers.values_mut();
        if let Some(place) = places.next() {
            *place = request_id;
        }
        for (place, value) in places.skip(fixed).zip(budget) {
            *place = value;
        }
        let mut last = None;
        for (name, value) in own {
            // A map iterator gives a name once for all its values. The first value replaces ours, the others are added.
            match (name, &last) {
                // No route sets the id of a request.
                (Some(name), _) if name == REQUEST_ID => last = None,
                (Some(name), _) => {
                    headers.insert(name.clone(), value);
                    last = Some(name);
                }
                (None, Some(name)) => {
                    headers.append(name.clone(), value);
                }
                (None, None) => {}
            }
        }
    }
}

/// Writes a route's own limit in place of the service's.
pub fn write_budget(headers: &mut HeaderMap, budget: &RateLimitStatus, window_seconds: u32) {
    let policy = HeaderValue::from_str(&format!("{};w={window_seconds}", budget.limit));
    for (names, value) in [
        (&LIMIT, HeaderValue::from(budget.limit)),
        (&REMAINING, HeaderValue::from(budget.remaining)),
        (&RESET, HeaderValue::from(budget.reset_seconds)),
        (&POLICY, policy.unwrap_or(HeaderValue::from_static("unknown"))),
    ] {
        headers.insert(&names[0], value.clone());
        headers.insert(&names[1], value);
    }
}

/// Adds the CORS headers of a preflight response.
pub fn write_preflight(headers: &mut HeaderMap) {
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, DELETE, OPTIONS"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
}

/// Adds `Idempotency-Replayed`: the request had been executed before.
pub fn marked_replayed<B>(mut response: http::Response<B>) -> http::Response<B> {
    response
        .headers_mut()
        .insert(&REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use purser_config::{Config, ConfigSources};

    const BUDGET: RateLimitStatus = RateLimitStatus {
        limit: 600,
        remaining: 599,
        reset_seconds: 7,
        allowed: true,
    };

    fn written(own: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in own {
            headers.append(*name, HeaderValue::from_static(value));
        }
        let limits = Config::load(&ConfigSources::default()).unwrap().limits;
        let fixed = FixedHeaders::new("abc", &limits, true, true);
        fixed.write(&mut headers, HeaderValue::from_static("req_1"), &BUDGET);
        headers
    }

    // Checks: headers of a route stay (two cookies, a lower limit), unless routes may not set them.
    #[test]
    fn route_headers_override_defaults() {
        let headers = written(&[
            ("set-cookie", "a=1"),
            ("set-cookie", "b=2"),
            ("ratelimit-limit", "3"),
            ("x-ratelimit-limit", "3"),
            ("request-id", "forged"),
        ]);
        let all = |name: &str| -> Vec<_> { headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect() };
        assert_eq!(all("set-cookie"), ["a=1", "b=2"]);
        assert_eq!(
            (all("ratelimit-limit"), all("x-ratelimit-limit")),
            (vec!["3"], vec!["3"])
        );
        for prefix in ["", "x-"] {
            assert_eq!(all(&format!("{prefix}ratelimit-remaining")), ["599"]);
            assert_eq!(all(&format!("{prefix}ratelimit-reset")), ["7"]);
        }
        assert_eq!(all("request-id"), ["req_1"]);
    }

    // Checks: all headers together leave space for a challenge within the 8 KiB limit of proxies.
    #[test]
    fn fixed_headers_stay_within_proxy_limit() {
        let bytes: usize = written(&[])
            .iter()
            .map(|(name, value)| name.as_str().len() + value.len() + 4)
            .sum();
        assert!(bytes < 1536, "{bytes}");
    }
}

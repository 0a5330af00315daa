//! The headers that every response carries, kept ready: a response only clones them.

use http::HeaderMap;
use http::header::{self, HeaderName, HeaderValue};

use super::rate::Budget;

/// Version of the contract; a new value means a breaking change.
pub const API_VERSION: &str = "2026-11-20";

const EXPOSED: &str = "PAYMENT-REQUIRED, PAYMENT-RESPONSE, X-PAYMENT-RESPONSE, WWW-Authenticate, Payment-Receipt, \
    Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, X-RateLimit-Limit, \
    X-RateLimit-Remaining, X-RateLimit-Reset, X-RateLimit-Policy, Idempotency-Replayed, Deprecation, Sunset, Link, \
    Request-Id, X-Service-Api-Version, X-Service-Docs-Version, X-Service-Mode";

/// Stock payment clients send Access-Control-Expose-Headers as a request header, so a browser asks for it too.
const ALLOWED: &str = "Content-Type, Authorization, PAYMENT-SIGNATURE, X-PAYMENT, SIGN-IN-WITH-X, Accept-Payment, \
    Payment-Authorization, Idempotency-Key, Access-Control-Expose-Headers";

static REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
static API: HeaderName = HeaderName::from_static("x-service-api-version");
static DOCS: HeaderName = HeaderName::from_static("x-service-docs-version");
static MODE: HeaderName = HeaderName::from_static("x-service-mode");
static LIMIT: [HeaderName; 2] = pair("ratelimit-limit", "x-ratelimit-limit");
static REMAINING: [HeaderName; 2] = pair("ratelimit-remaining", "x-ratelimit-remaining");
static RESET: [HeaderName; 2] = pair("ratelimit-reset", "x-ratelimit-reset");
static POLICY: [HeaderName; 2] = pair("ratelimit-policy", "x-ratelimit-policy");

const fn pair(plain: &'static str, prefixed: &'static str) -> [HeaderName; 2] {
    [HeaderName::from_static(plain), HeaderName::from_static(prefixed)]
}

/// How many headers [`FixedHeaders::write`] adds.
const ADDED: usize = 14;

/// Ready-made values.
pub(super) struct FixedHeaders {
    docs: HeaderValue,
    policy: HeaderValue,
    sandbox: bool,
    /// Texts of small numbers: most budgets and every reset.
    numbers: Vec<HeaderValue>,
}

impl FixedHeaders {
    /// `docs_version` is the documents' hash; the limit is the service-wide one.
    pub(super) fn new(docs_version: &str, limit: u32, window_seconds: u32, sandbox: bool) -> Self {
        let text = |t: String| HeaderValue::from_str(&t).unwrap_or(HeaderValue::from_static("unknown"));
        Self {
            docs: text(docs_version.to_owned()),
            policy: text(format!("{limit};w={window_seconds}")),
            sandbox,
            numbers: (0..=limit.clamp(window_seconds.min(3600), 3600))
                .map(HeaderValue::from)
                .collect(),
        }
    }

    fn number(&self, n: u32) -> HeaderValue {
        self.numbers
            .get(n as usize)
            .cloned()
            .unwrap_or_else(|| HeaderValue::from(n))
    }

    /// Adds them. A budget that a route has put there already (a tighter one) stays.
    pub(super) fn write(&self, headers: &mut HeaderMap, request_id: HeaderValue, budget: &Budget) {
        headers.reserve(ADDED);
        headers.insert(&REQUEST_ID, request_id);
        headers.insert(&API, HeaderValue::from_static(API_VERSION));
        headers.insert(&DOCS, self.docs.clone());
        if self.sandbox {
            headers.insert(&MODE, HeaderValue::from_static("sandbox"));
        }
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
        if headers.contains_key(&LIMIT[0]) {
            return;
        }
        for (names, value) in [
            (&LIMIT, self.number(budget.limit)),
            (&REMAINING, self.number(budget.remaining)),
            (&RESET, self.number(budget.reset_seconds)),
            (&POLICY, self.policy.clone()),
        ] {
            headers.insert(&names[0], value.clone());
            headers.insert(&names[1], value);
        }
    }
}

/// What a preflight is told.
pub(super) fn write_preflight(headers: &mut HeaderMap) {
    headers.insert(
        header::ACCESS_CONTROL_ALLOW_METHODS,
        HeaderValue::from_static("GET, HEAD, POST, DELETE, OPTIONS"),
    );
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED));
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("86400"));
}

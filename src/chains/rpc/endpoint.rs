//! State of one endpoint: rate limit, health, height. Time is a parameter.

use std::time::Duration;

use super::{EndpointUrl, RpcError, SettingsError};

const FIRST_PAUSE_MS: u64 = 250;
const MAX_PAUSE_MS: u64 = 30_000;
/// A token in thousandths, so that a refill of one millisecond is a whole number.
const TOKEN: i64 = 1_000;

/// An endpoint whose height has not grown for so long, while another one is ahead, is used last.
const STANDSTILL_MS: u64 = 30_000;

/// A height that was shown longer ago says nothing of how far the endpoint is now.
const HEIGHT_TTL_MS: u64 = 30_000;

/// What the endpoints of a pool have shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heights {
    /// The highest of any endpoint.
    pub(crate) best: Option<u64>,
    /// The highest that two endpoints have reached.
    pub(crate) shared: Option<u64>,
}

/// One endpoint of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// Where it is.
    pub url: EndpointUrl,
    /// For one HTTP exchange, connection included. Default 5 s.
    pub timeout: Duration,
    /// Calls per second in the long run; a batch counts its calls. Default 25.
    pub rate: u32,
    /// Calls that may be made at once. Default 50.
    pub burst: u32,
    /// Largest response, in bytes. Default 16 MiB.
    pub max_response_bytes: usize,
    /// Blocks or slots that it may be behind before it is used last: behind two others, or behind one while it stands still for
    /// 30 s. Default 5.
    pub max_lag: u64,
}

impl EndpointSettings {
    /// With the defaults.
    pub const fn new(url: EndpointUrl) -> Self {
        Self {
            url,
            timeout: Duration::from_secs(5),
            rate: 25,
            burst: 50,
            max_response_bytes: 16 << 20,
            max_lag: 5,
        }
    }

    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        let zero = [
            ("timeout", self.timeout.is_zero()),
            ("rate", self.rate == 0),
            ("burst", self.burst == 0),
            ("max_response_bytes", self.max_response_bytes == 0),
        ];
        match zero.into_iter().find(|(_, zero)| *zero) {
            Some((limit, _)) => Err(SettingsError::Zero {
                host: self.url.host(),
                limit,
            }),
            None => Ok(()),
        }
    }
}

/// For metrics and for the operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Host of the URL.
    pub host: String,
    /// Failures since the last response.
    pub consecutive_failures: u32,
    /// Calls since the pool was opened, as the provider counts them: each call of a batch, whatever came of it.
    pub calls: u64,
    /// Milliseconds since the last response that was one; `None` before the first.
    pub last_response_ago_ms: Option<u64>,
    /// Text of the last failure, without secrets; `None` while healthy.
    pub last_error: Option<String>,
    /// Highest block or slot that it has shown.
    pub height: Option<u64>,
    /// Behind the highest of all endpoints, in blocks or slots; `None` if it has shown no height within 30 s, or its last call has
    /// failed.
    pub lag: Option<u64>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct EndpointState {
    tokens: i64,
    refilled_ms: u64,
    paused_until_ms: u64,
    limited_until_ms: u64,
    failures: u32,
    calls: u64,
    last_response_ms: Option<u64>,
    last_error: Option<String>,
    height: Option<u64>,
    /// When it has last shown a height.
    height_at_ms: u64,
    /// When its height has last grown.
    grown_ms: u64,
    /// Two others have shown another chain than it has: it is used last until then.
    outvoted_until_ms: u64,
}

impl EndpointState {
    pub(crate) fn new(settings: &EndpointSettings, now_ms: u64) -> Self {
        Self {
            tokens: i64::from(settings.burst) * TOKEN,
            refilled_ms: now_ms,
            paused_until_ms: 0,
            limited_until_ms: 0,
            failures: 0,
            calls: 0,
            last_response_ms: None,
            last_error: None,
            height: None,
            height_at_ms: now_ms,
            grown_ms: now_ms,
            outvoted_until_ms: 0,
        }
    }

    /// Used last until then. Whether it was not before.
    pub(crate) fn outvote(&mut self, until_ms: u64, now_ms: u64) -> bool {
        let is_new = now_ms >= self.outvoted_until_ms;
        self.outvoted_until_ms = until_ms;
        is_new
    }

    /// Takes tokens for these calls, or returns how long to wait. A batch larger than the burst goes when the bucket is full
    /// and leaves it below zero.
    pub(crate) fn take(&mut self, settings: &EndpointSettings, calls: u32, now_ms: u64) -> Result<(), Duration> {
        let wait = self.wait(settings, calls, now_ms);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.tokens -= i64::from(calls) * TOKEN;
        self.calls += u64::from(calls);
        Ok(())
    }

    fn wait(&mut self, settings: &EndpointSettings, calls: u32, now_ms: u64) -> Duration {
        let full = i64::from(settings.burst) * TOKEN;
        // One call per second is one thousandth of a token per millisecond.
        let elapsed = i64::try_from(now_ms.saturating_sub(self.refilled_ms)).unwrap_or(i64::MAX);
        let refill = elapsed.saturating_mul(i64::from(settings.rate));
        self.tokens = self.tokens.saturating_add(refill).min(full);
        self.refilled_ms = now_ms;
        let missing = (i64::from(calls) * TOKEN).min(full) - self.tokens;
        let refilled = match u64::try_from(missing) {
            Ok(missing) => missing.div_ceil(u64::from(settings.rate)),
            Err(_) => 0,
        };
        Duration::from_millis(refilled.max(self.limited_until_ms.saturating_sub(now_ms)))
    }

    /// What to sort by: the smallest is used first. Failing endpoints come last, after those that lag.
    pub(crate) fn rank(
        &mut self,
        settings: &EndpointSettings,
        calls: u32,
        heights: Heights,
        now_ms: u64,
    ) -> (bool, bool, Duration, u32) {
        let behind = |height| self.lag(height).is_some_and(|lag| lag > settings.max_lag);
        let stands_still = now_ms > self.grown_ms.saturating_add(STANDSTILL_MS);
        // One endpoint alone that says it is ahead does not put the others behind it.
        let lagging = behind(heights.shared) || (stands_still && behind(heights.best));
        let wait = self.wait(settings, calls, now_ms);
        let last = now_ms < self.paused_until_ms || now_ms < self.outvoted_until_ms;
        (last, lagging, wait, self.failures)
    }

    pub(crate) fn record(&mut self, error: Option<&RpcError>, now_ms: u64) {
        match error {
            Some(error) if error.is_endpoint_fault() => self.record_failure(error, now_ms),
            _ => {
                self.failures = 0;
                self.paused_until_ms = 0;
                self.last_error = None;
                self.last_response_ms = Some(now_ms);
            }
        }
    }

    pub(crate) const fn is_failing(&self) -> bool {
        self.failures > 0
    }

    fn record_failure(&mut self, error: &RpcError, now_ms: u64) {
        self.failures = self.failures.saturating_add(1);
        let pause = FIRST_PAUSE_MS << (self.failures - 1).min(10);
        self.paused_until_ms = now_ms.saturating_add(pause.min(MAX_PAUSE_MS));
        if let RpcError::RateLimited { retry_after } = error {
            let wait = u64::try_from(retry_after.as_millis()).unwrap_or(u64::MAX);
            self.limited_until_ms = now_ms.saturating_add(wait);
        }
        self.last_error = Some(error.to_string());
    }

    /// The newest height counts, also a lower one: an endpoint may be replaced by one that is behind.
    pub(crate) fn set_height(&mut self, height: u64, now_ms: u64) {
        if self.height.is_none_or(|old| height > old) {
            self.grown_ms = now_ms;
        }
        (self.height, self.height_at_ms) = (Some(height), now_ms);
    }

    pub(crate) const fn height(&self) -> Option<u64> {
        self.height
    }

    fn lag(&self, best: Option<u64>) -> Option<u64> {
        Some(best?.saturating_sub(self.height?))
    }

    pub(crate) fn status(&self, settings: &EndpointSettings, best: Option<u64>, now_ms: u64) -> EndpointStatus {
        let is_current = self.failures == 0 && now_ms <= self.height_at_ms.saturating_add(HEIGHT_TTL_MS);
        EndpointStatus {
            host: settings.url.host(),
            consecutive_failures: self.failures,
            calls: self.calls,
            last_response_ago_ms: self.last_response_ms.map(|at| now_ms.saturating_sub(at)),
            last_error: self.last_error.clone(),
            height: self.height,
            lag: self.lag(best).filter(|_| is_current),
        }
    }
}

//! State of one endpoint: rate limit, health and height. Time is a parameter.

use std::time::Duration;

use super::{EndpointUrl, RpcError, SettingsError};

const FIRST_PAUSE_MS: u64 = 250;
const MAX_PAUSE_MS: u64 = 30_000;
/// One token in thousandths, so that the refill of one millisecond is a whole number.
const TOKEN: i64 = 1_000;

/// An endpoint whose height has not grown for this time, while another one is ahead, is used last. In milliseconds.
const STANDSTILL_MS: u64 = 30_000;

/// A height counts as outdated after this time, in milliseconds.
const HEIGHT_TTL_MS: u64 = 30_000;

/// Heights that the endpoints of a pool have shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heights {
    /// Highest height of any endpoint.
    pub(crate) best: Option<u64>,
    /// Highest height that two endpoints have reached.
    pub(crate) shared: Option<u64>,
}

/// One endpoint of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointSettings {
    /// URL of the endpoint.
    pub url: EndpointUrl,
    /// Timeout of one HTTP exchange, connection included. Default 5 s.
    pub timeout: Duration,
    /// Sustained calls per second; a batch counts its calls. Default 25.
    pub rate: u32,
    /// Calls that may be made at once. Default 50.
    pub burst: u32,
    /// Largest response, in bytes. Default 16 MiB.
    pub max_response_bytes: usize,
    /// Blocks or slots that the endpoint may lag before it is used last. It must lag behind two others, or behind one
    /// while its height has not grown for 30 s. Default 5.
    pub max_lag: u64,
}

impl EndpointSettings {
    /// Settings with the default values.
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

/// Status of an endpoint, for metrics and operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointStatus {
    /// Host of the endpoint's URL.
    pub host: String,
    /// Failures since the last response.
    pub consecutive_failures: u32,
    /// Calls since the pool was opened, as the provider counts them: each call of a batch, with any outcome.
    pub calls: u64,
    /// Milliseconds since the last valid response; `None` before the first.
    pub last_response_ago_ms: Option<u64>,
    /// Text of the last failure, without secrets; `None` while healthy.
    pub last_error: Option<String>,
    /// Highest block or slot that the endpoint has shown.
    pub height: Option<u64>,
    /// Lag behind the highest endpoint, in blocks or slots. `None` if it has shown no height within 30 s, or its last
    /// call has failed.
    pub lag: Option<u64>,
}

/// State of one endpoint; see the module.
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
    /// Time at which it last showed a height.
    height_at_ms: u64,
    /// Time at which its height last grew.
    grown_ms: u64,
    /// Two others have shown a different chain: the endpoint is used last until this time.
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

    /// Uses the endpoint last until this time. Returns whether that is a change.
    pub(crate) fn outvote(&mut self, until_ms: u64, now_ms: u64) -> bool {
        let is_new = now_ms >= self.outvoted_until_ms;
        self.outvoted_until_ms = until_ms;
        is_new
    }

    /// Takes tokens for these calls, or returns how long to wait. A batch larger than the burst is sent when the bucket
    /// is full and leaves it below zero.
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

    /// Sort key: the smallest is used first. Failing endpoints come last, after those that lag.
    pub(crate) fn rank(
        &mut self,
        settings: &EndpointSettings,
        calls: u32,
        heights: Heights,
        now_ms: u64,
    ) -> (bool, bool, Duration, u32) {
        let behind = |height| self.lag(height).is_some_and(|lag| lag > settings.max_lag);
        let stands_still = now_ms > self.grown_ms.saturating_add(STANDSTILL_MS);
        // The claim of one endpoint alone does not make the others lag.
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

    /// Records the newest height, even if it is lower: the endpoint may have been replaced by one that is behind.
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

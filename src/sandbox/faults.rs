//! The fault layer of the sandbox's chains and providers: rules that wait for calls, and what a fault does before and
//! after a call. Held in memory: a restart clears it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::id::JobId;
use purser_actors::port::{ErrorKind, PortError};

/// Most rules that wait for calls of one provider, to bound memory.
const MAX_RULES: usize = 1_000;
/// Magic orders that fail at first fail this often.
const TEMPORARY_ERRORS: u32 = 2;

/// Kinds of faults of a provider. Which of them a provider has, its controls say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No response; nothing is done.
    Unreachable,
    /// The call is delayed and then proceeds normally.
    Slow { ms: u64 },
    /// Response with status 429; nothing is done.
    RateLimited,
    /// The response is malformed. Nothing is done, but the caller cannot know that.
    MalformedResponse,
    /// The call is executed and the response is lost.
    Timeout,
    /// The same, under the name that bank and bridge have for it.
    LoseResponse,
    /// Nothing is done and no response is sent.
    Stall,
    /// The call is declined.
    Decline,
    /// A decline that may succeed on retry, such as missing gas.
    RetryableDecline,
    /// The signed data expires before it is used.
    Expire,
    /// A response or event is sent again.
    Duplicate,
    /// Events are reported newest first.
    OutOfOrder,
    /// Sold out, for this call only.
    OutOfStock,
}

impl Fault {
    /// Name in the sandbox controls.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Slow { .. } => "slow",
            Self::RateLimited => "rate_limited",
            Self::MalformedResponse => "malformed_response",
            Self::Timeout => "timeout",
            Self::LoseResponse => "lose_response",
            Self::Stall => "stall",
            Self::Decline => "decline",
            Self::RetryableDecline => "retryable_decline",
            Self::Expire => "expire",
            Self::Duplicate => "duplicate",
            Self::OutOfOrder => "out_of_order",
            Self::OutOfStock => "out_of_stock",
        }
    }

    /// Whether the caller gets no answer although the call is executed.
    const fn loses_response(self) -> bool {
        matches!(self, Self::Timeout | Self::LoseResponse)
    }
}

/// Writes the enum of the faults that a control injects into a provider: those that every provider has, and the given
/// ones. Changes that are no faults follow a semicolon.
///
/// ```text
/// fault_params! {
///     /// Faults of the payout rails.
///     pub enum PayoutFaultParam { Decline; }
/// }
/// // becomes
/// pub enum PayoutFaultParam { Unreachable, Slow, Decline, Clear }
/// impl PayoutFaultParam {
///     pub const fn fault(self, ms: u64) -> Option<Fault> { /* Unreachable => Some(Fault::Unreachable), … */ }
/// }
/// ```
#[macro_export]
macro_rules! fault_params {
    ($(#[$doc:meta])* $vis:vis enum $name:ident { $($fault:ident),*; $($change:ident),* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
        #[serde(rename_all = "snake_case")]
        $vis enum $name {
            Unreachable,
            Slow,
            $($fault,)*
            $($change,)*
            /// Remove all faults.
            Clear,
        }

        impl $name {
            /// The fault, `slow` by `ms` milliseconds; `None` for `clear` and for what is no fault.
            $vis const fn fault(self, ms: u64) -> Option<$crate::faults::Fault> {
                use $crate::faults::Fault;
                match self {
                    Self::Unreachable => Some(Fault::Unreachable),
                    Self::Slow => Some(Fault::Slow { ms }),
                    $(Self::$fault => Some(Fault::$fault),)*
                    $(Self::$change => None,)*
                    Self::Clear => None,
                }
            }
        }
    };
}

/// A fault, what it is limited to, and how often it still applies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultRule<S, F = Fault> {
    /// The operation or payer that meets it; `None` for all.
    pub scope: Option<S>,
    pub fault: F,
    /// `None` applies until cleared.
    pub remaining: Option<u32>,
}

/// The rules of one provider, in the order in which they were set.
#[derive(Debug)]
pub struct FaultRules<S, F = Fault> {
    rules: Mutex<Vec<FaultRule<S, F>>>,
    injected: AtomicU64,
}

impl<S, F> Default for FaultRules<S, F> {
    fn default() -> Self {
        Self {
            rules: Mutex::default(),
            injected: AtomicU64::new(0),
        }
    }
}

impl<S: Clone, F: Clone> FaultRules<S, F> {
    pub fn add(&self, rule: FaultRule<S, F>) {
        self.rules.lock().push(rule);
    }

    pub fn clear(&self) {
        self.rules.lock().clear();
    }

    /// The rules that wait for a call.
    pub fn waiting(&self) -> Vec<FaultRule<S, F>> {
        self.rules.lock().clone()
    }

    /// Whether no further rule may be added.
    pub fn is_full(&self) -> bool {
        self.rules.lock().len() >= MAX_RULES
    }

    /// Number of calls that met a fault since the start.
    pub fn injected(&self) -> u64 {
        self.injected.load(Ordering::Relaxed)
    }

    pub fn count(&self) {
        self.injected.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether this call can meet a fault. Uses up none.
    pub fn any(&self, meets: impl Fn(Option<&S>, &F) -> bool) -> bool {
        let rules = self.rules.lock();
        rules.iter().any(|rule| meets(rule.scope.as_ref(), &rule.fault))
    }

    /// The first fault that this call can meet. Uses up one of its remaining times.
    pub fn take(&self, meets: impl Fn(Option<&S>, &F) -> bool) -> Option<F> {
        let mut rules = self.rules.lock();
        let at = rules.iter().position(|rule| meets(rule.scope.as_ref(), &rule.fault))?;
        let rule = rules.get_mut(at)?;
        let fault = rule.fault.clone();
        if let Some(remaining) = &mut rule.remaining {
            *remaining = remaining.saturating_sub(1);
            if *remaining == 0 {
                rules.remove(at);
            }
        }
        drop(rules);
        self.count();
        Some(fault)
    }
}

/// How often a requested fault applies: once if nothing is said, until cleared for 0.
pub const fn fault_count(times: Option<u32>) -> Option<u32> {
    match times {
        None => Some(1),
        Some(0) => None,
        some => some,
    }
}

/// What a provider's errors say.
#[derive(Clone, Copy, Debug)]
pub struct FaultTexts {
    pub unreachable: &'static str,
    pub malformed: &'static str,
}

/// The faults of one provider. `S` names its operations.
#[derive(Debug)]
pub struct Faults<S = ()> {
    rules: FaultRules<S>,
    texts: FaultTexts,
    /// Duration of a call that times out.
    timeout: Duration,
    /// Number of temporary errors that a magic order has had; removed once it is accepted.
    temporary_errors: Mutex<HashMap<JobId, u32>>,
}

impl<S: Copy> Faults<S> {
    pub fn new(texts: FaultTexts, timeout_ms: u64) -> Self {
        Self {
            rules: FaultRules::default(),
            texts,
            timeout: Duration::from_millis(timeout_ms),
            temporary_errors: Mutex::default(),
        }
    }

    /// Adds a fault for every operation.
    pub fn add(&self, fault: Fault, remaining: Option<u32>) {
        self.add_for(None, fault, remaining);
    }

    /// Adds a fault for one operation.
    pub fn add_for(&self, scope: Option<S>, fault: Fault, remaining: Option<u32>) {
        self.rules.add(FaultRule {
            scope,
            fault,
            remaining,
        });
    }

    pub fn clear(&self) {
        self.rules.clear();
    }

    /// Adds the fault as often as requested; clears all for `None`. False if too many are waiting.
    pub fn set(&self, scope: Option<S>, fault: Option<Fault>, times: Option<u32>) -> bool {
        match fault {
            None => self.clear(),
            Some(_) if self.rules.is_full() => return false,
            Some(fault) => self.add_for(scope, fault, fault_count(times)),
        }
        true
    }

    pub fn waiting(&self) -> Vec<FaultRule<S>> {
        self.rules.waiting()
    }

    /// Number of calls that met a fault since the start.
    pub fn injected(&self) -> u64 {
        self.rules.injected()
    }

    /// The first fault that this call can meet.
    pub fn take(&self, meets: impl Fn(Option<S>, Fault) -> bool) -> Option<Fault> {
        self.rules.take(|scope, fault| meets(scope.copied(), *fault))
    }

    /// Takes the fault of a call, with its effect before the provider has read the request. The rest of its effect is
    /// the caller's, and [`Faults::after`].
    ///
    /// # Errors
    /// When the provider does not read the request.
    pub async fn before(
        &self,
        operation: &'static str,
        meets: impl Fn(Fault) -> bool,
    ) -> Result<Option<Fault>, PortError> {
        let fault = self.take(|_, fault| meets(fault));
        self.start(operation, fault).await?;
        Ok(fault)
    }

    /// The effect of a fault before the provider has read the request.
    ///
    /// # Errors
    /// When the provider does not read the request.
    pub async fn start(&self, operation: &'static str, fault: Option<Fault>) -> Result<(), PortError> {
        match fault {
            Some(Fault::Unreachable) => Err(failed(ErrorKind::Temporary, operation, self.texts.unreachable)),
            Some(Fault::RateLimited) => Err(failed(ErrorKind::Temporary, operation, "too many requests")),
            // A malformed response reveals nothing about the outcome.
            Some(Fault::MalformedResponse) => Err(failed(ErrorKind::Unknown, operation, self.texts.malformed)),
            Some(Fault::Stall) => self.time_out(operation).await,
            Some(Fault::Slow { ms }) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The effect of a fault after the call was executed.
    ///
    /// # Errors
    /// When the response is lost.
    pub async fn after(&self, operation: &'static str, fault: Option<Fault>) -> Result<(), PortError> {
        match fault.is_some_and(Fault::loses_response) {
            true => self.time_out(operation).await,
            false => Ok(()),
        }
    }

    /// No answer comes in time.
    pub async fn time_out<T>(&self, operation: &'static str) -> Result<T, PortError> {
        tokio::time::sleep(self.timeout).await;
        Err(failed(ErrorKind::Unknown, operation, "no answer in time"))
    }

    /// Whether this attempt of a magic order fails temporarily; the third does not.
    pub fn fails_temporarily(&self, key: JobId) -> bool {
        let mut errors = self.temporary_errors.lock();
        let had = errors.entry(key).or_default();
        *had += 1;
        if *had <= TEMPORARY_ERRORS {
            return true;
        }
        errors.remove(&key);
        false
    }
}

/// What an order under a key leads to.
pub enum OrderResult<T> {
    /// A magic order fails temporarily.
    Busy,
    /// The key belongs to another order.
    Conflict,
    Existing(T),
    Created(T),
}

impl<T> OrderResult<T> {
    /// The order, and whether it is new.
    ///
    /// # Errors
    /// When there is none.
    pub fn order(self, operation: &'static str, busy: &str) -> Result<(T, bool), PortError> {
        match self {
            Self::Busy => Err(failed(ErrorKind::Temporary, operation, busy)),
            Self::Conflict => Err(conflict(operation)),
            Self::Existing(known) => Ok((known, false)),
            Self::Created(new) => Ok((new, true)),
        }
    }
}

/// The key belongs to another order.
pub fn conflict(operation: &'static str) -> PortError {
    failed(
        ErrorKind::Permanent,
        operation,
        "this key belongs to an order with another content",
    )
}

pub fn failed(kind: ErrorKind, operation: &'static str, message: impl Into<String>) -> PortError {
    PortError {
        kind,
        operation,
        message: message.into(),
    }
}

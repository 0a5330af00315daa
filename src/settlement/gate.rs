//! A gate for the requests to a chain's endpoints. If a start cannot verify a chain, its gate is closed. The chain is
//! then neither read nor sent to until it is verified to be the one in the settings.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::port::PortError;
use purser_chains::rpc::{BoxFuture, EndpointUrl, Response, Transport, TransportError};

use super::errors::temporary;

/// The reason of a gate that is closed from the start.
pub const UNREACHABLE: &str = "its endpoints have not answered since the start: the chain is used once it was found to be the one of the \
                          settings";

/// The gate of one chain.
#[derive(Debug, Default)]
pub struct Gate {
    /// Why the gate is closed; `None` if it is open.
    closed_reason: Mutex<Option<Cow<'static, str>>>,
    mismatches: AtomicU64,
}

impl Gate {
    /// A gate for a verified chain.
    pub fn opened() -> Arc<Self> {
        Arc::default()
    }

    /// A gate for a chain that was not verified because none of its endpoints responded.
    pub fn closed() -> Arc<Self> {
        let gate = Self::default();
        *gate.closed_reason.lock() = Some(UNREACHABLE.into());
        Arc::new(gate)
    }

    /// Why the chain is not used; `None` if it is.
    pub fn closed_reason(&self) -> Option<Cow<'static, str>> {
        self.closed_reason.lock().clone()
    }

    /// Whether the chain is used.
    pub fn is_open(&self) -> bool {
        self.closed_reason.lock().is_none()
    }

    /// # Errors
    /// `Temporary` while the gate is closed.
    pub fn if_open(&self, operation: &'static str) -> Result<(), PortError> {
        match self.closed_reason() {
            None => Ok(()),
            Some(why) => Err(temporary(operation, why)),
        }
    }

    /// Opens the gate: the chain matches the settings. A gate does not close again.
    pub fn open(&self) {
        *self.closed_reason.lock() = None;
    }

    /// Records that no endpoint responds.
    pub fn mark_unreachable(&self) {
        *self.closed_reason.lock() = Some(UNREACHABLE.into());
    }

    /// Records that the chain contradicts the settings. Returns whether the reason is new.
    pub fn record_mismatch(&self, why: String) -> bool {
        let mut closed = self.closed_reason.lock();
        let is_new = closed.as_deref() != Some(why.as_str());
        if is_new {
            self.mismatches.fetch_add(1, Ordering::Relaxed);
            *closed = Some(why.into());
        }
        is_new
    }

    /// Number of distinct mismatches found in a row.
    pub fn alarms(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// Wraps a transport, which then only works while the gate is open.
    pub fn guard(self: &Arc<Self>, transport: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(Guarded {
            gate: self.clone(),
            transport,
        })
    }
}

struct Guarded {
    gate: Arc<Gate>,
    transport: Arc<dyn Transport>,
}

impl Transport for Guarded {
    fn post<'a>(
        &'a self,
        url: &'a EndpointUrl,
        body: Vec<u8>,
        timeout: Duration,
        max_response_bytes: usize,
    ) -> BoxFuture<'a, Result<Response, TransportError>> {
        match self.gate.is_open() {
            true => self.transport.post(url, body, timeout, max_response_bytes),
            false => {
                let why = "it was not asked: the chain was not checked since the start";
                Box::pin(std::future::ready(Err(TransportError::Unreachable(why.to_owned()))))
            }
        }
    }
}

//! Whether a chain's endpoints may be used. A start that cannot check a chain begins with its gate closed: nothing is read from the
//! chain or sent to it before it was found to be the one of the settings.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use purser_actors::port::{ErrorKind, PortError};
use purser_chains::rpc::{BoxFuture, EndpointUrl, Response, Transport, TransportError};

/// The reason of a gate that begins closed.
pub const UNREACHABLE: &str = "its endpoints have not answered since the start: the chain is used once it was found to be the one of the \
                          settings";

/// One chain's.
#[derive(Debug, Default)]
pub struct Gate {
    /// Why it is closed, if it is.
    closed_reason: Mutex<Option<Cow<'static, str>>>,
    mismatches: AtomicU64,
}

impl Gate {
    /// The chain was checked.
    pub fn opened() -> Arc<Self> {
        Arc::default()
    }

    /// The chain was not checked: none of its endpoints answered.
    pub fn closed() -> Arc<Self> {
        let gate = Self::default();
        *gate.closed_reason.lock() = Some(UNREACHABLE.into());
        Arc::new(gate)
    }

    /// Why the chain is not used, if it is not.
    pub fn closed_reason(&self) -> Option<Cow<'static, str>> {
        self.closed_reason.lock().clone()
    }

    /// Whether the chain is used.
    pub fn is_open(&self) -> bool {
        self.closed_reason.lock().is_none()
    }

    /// # Errors
    /// `Temporary` while it is closed.
    pub fn if_open(&self, operation: &'static str) -> Result<(), PortError> {
        match self.closed_reason() {
            None => Ok(()),
            Some(why) => Err(PortError {
                kind: ErrorKind::Temporary,
                operation,
                message: why.into_owned(),
            }),
        }
    }

    /// The chain fits the settings. A gate does not close again.
    pub fn open(&self) {
        *self.closed_reason.lock() = None;
    }

    /// No endpoint answers.
    pub fn mark_unreachable(&self) {
        *self.closed_reason.lock() = Some(UNREACHABLE.into());
    }

    /// The chain does not fit the settings. Whether that is news.
    pub fn record_mismatch(&self, why: String) -> bool {
        let mut closed = self.closed_reason.lock();
        let is_new = closed.as_deref() != Some(why.as_str());
        if is_new {
            self.mismatches.fetch_add(1, Ordering::Relaxed);
            *closed = Some(why.into());
        }
        is_new
    }

    /// How often the chain was found not to fit in another way than before.
    pub fn alarms(&self) -> u64 {
        self.mismatches.load(Ordering::Relaxed)
    }

    /// This transport, while the gate is open.
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

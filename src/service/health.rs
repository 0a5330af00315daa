//! Readiness of the service, for `GET /readyz`.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use purser_actors::engine::Engine;
use purser_actors::product::ProductLine;
use purser_storage::JournalStore;

use crate::http::health::Readiness;
use crate::settlement::real::RealPorts;

/// Whether the service is stopping, and whether the store has failed.
pub(super) struct HealthCheck {
    engine: Engine,
    serving: Arc<AtomicBool>,
    store: Arc<JournalStore>,
    /// `None` in the sandbox, whose chains always respond.
    chains: Option<Arc<RealPorts>>,
}

impl HealthCheck {
    pub(super) fn of(
        engine: &Engine,
        serving: &Arc<AtomicBool>,
        store: &Arc<JournalStore>,
        chains: Option<Arc<RealPorts>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            engine: engine.clone(),
            serving: serving.clone(),
            store: store.clone(),
            chains,
        })
    }
}

impl Readiness for HealthCheck {
    fn ready(&self) -> Result<(), &'static str> {
        if self.store.has_failed() {
            return Err("storage");
        }
        if !self.engine.is_healthy() {
            return Err("engine");
        }
        if self.serving.load(Ordering::Acquire) {
            Ok(())
        } else {
            Err("stopping")
        }
    }

    fn not_sold(&self) -> Vec<&'static str> {
        let closed = ProductLine::ALL
            .into_iter()
            .filter(|line| !self.engine.is_line_open(*line));
        closed.map(ProductLine::name).collect()
    }

    fn networks_down(&self) -> Vec<(&'static str, Cow<'static, str>)> {
        let down = self.chains.as_ref().map(|ports| ports.blocked_networks());
        let named = down.unwrap_or_default().into_iter();
        named.map(|(network, why)| (network.name(), why)).collect()
    }
}

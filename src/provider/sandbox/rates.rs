//! The sandbox's exchange rates: the table of `config.toml`, until the desk changes it. Held in memory: a restart goes
//! back to the settings.

use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::port::{BoxFuture, Clock, ErrorKind, PortError};
use rust_decimal::Decimal;

use crate::provider::rates::{RateSource, RateTable};

/// A simulated source of rates.
pub struct SandboxRates {
    settings: Arc<RateTable>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    table: Arc<RateTable>,
    /// Calls that meet no answer; `None` is until cleared.
    unreachable_calls: Option<u32>,
}

/// The source at a glance.
#[derive(Clone, Debug)]
pub struct SandboxRateSummary {
    /// What is told now.
    pub table: Arc<RateTable>,
    /// Calls that still meet no answer; `None` is until cleared.
    pub unreachable_calls: Option<u32>,
}

impl SandboxRates {
    /// Begins with the table of the settings.
    pub fn new(settings: RateTable, clock: Arc<dyn Clock>) -> Self {
        let table = Arc::new(settings);
        Self {
            settings: table.clone(),
            clock,
            state: Mutex::new(State {
                table,
                unreachable_calls: Some(0),
            }),
        }
    }

    /// Moves one rate, from now on. False for a currency that the table does not have, or that is the dollar.
    pub fn set(&self, currency: &str, usd_per_unit: Decimal) -> bool {
        let mut state = self.state.lock();
        if currency == "USD" || !state.table.usd_per_unit.contains_key(currency) {
            return false;
        }
        let mut table = RateTable::clone(&state.table);
        table.usd_per_unit.insert(currency.to_owned(), usd_per_unit);
        table.as_of = table.as_of.max(self.clock.now());
        state.table = Arc::new(table);
        true
    }

    /// Lets so many calls meet no answer; `None` until cleared.
    pub fn set_unreachable(&self, times: Option<u32>) {
        self.state.lock().unreachable_calls = times;
    }

    /// Back to the settings, and answering.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        state.table = self.settings.clone();
        state.unreachable_calls = Some(0);
    }

    /// The table and what waits.
    pub fn state(&self) -> SandboxRateSummary {
        let state = self.state.lock();
        SandboxRateSummary {
            table: state.table.clone(),
            unreachable_calls: state.unreachable_calls,
        }
    }
}

impl RateSource for SandboxRates {
    fn current(&self) -> BoxFuture<'_, Result<Arc<RateTable>, PortError>> {
        Box::pin(async {
            let mut state = self.state.lock();
            match &mut state.unreachable_calls {
                Some(0) => return Ok(state.table.clone()),
                Some(left) => *left -= 1,
                None => {}
            }
            Err(PortError {
                kind: ErrorKind::Temporary,
                operation: "rates",
                message: "the sandbox's source of rates is unreachable".into(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use purser_actors::port::Timestamp;

    use super::*;
    use crate::config::{Config, ConfigSources};

    struct StaticRates(u64);

    impl Clock for StaticRates {
        fn now(&self) -> Timestamp {
            Timestamp(self.0)
        }
    }

    fn decimal(text: &str) -> Decimal {
        Decimal::from_str_exact(text).unwrap()
    }

    // Aim: a moved rate is told with its own time, exactly, and a clear goes back to the settings.
    #[tokio::test]
    async fn a_moved_rate_has_a_later_time_and_ends_with_clear() {
        let settings = Config::load(&ConfigSources::default()).unwrap().rates.table();
        let later = settings.as_of.0 + 1;
        let rates = SandboxRates::new(settings.clone(), Arc::new(StaticRates(later)));
        assert_eq!(*rates.current().await.unwrap(), settings);
        assert!(rates.set("EUR", decimal("1.23456789")));
        let moved = rates.current().await.unwrap();
        assert_eq!(moved.as_of, Timestamp(later));
        assert_eq!(moved.to_usd(decimal("100.01"), "EUR"), Some(decimal("123.4691346789")));
        assert_eq!(moved.to_usd(decimal("7"), "USD"), Some(decimal("7")));
        assert_eq!(moved.to_usd(decimal("7"), "QQQ"), None);
        assert_eq!(moved.to_usd(Decimal::MAX, "EUR"), None);
        assert!(!rates.set("USD", decimal("2")) && !rates.set("QQQ", decimal("2")));
        rates.clear();
        assert_eq!(*rates.current().await.unwrap(), settings);
    }

    // Aim: a silent source is a temporary failure, as often as it was told.
    #[tokio::test]
    async fn a_silent_source_fails_as_often_as_told() {
        let settings = Config::load(&ConfigSources::default()).unwrap().rates.table();
        let rates = SandboxRates::new(settings, Arc::new(StaticRates(0)));
        rates.set_unreachable(Some(2));
        for _ in 0..2 {
            assert_eq!(rates.current().await.unwrap_err().kind, ErrorKind::Temporary);
        }
        assert!(rates.current().await.is_ok());
        rates.set_unreachable(None);
        for _ in 0..5 {
            assert!(rates.current().await.is_err());
        }
        rates.clear();
        assert!(rates.current().await.is_ok());
    }
}

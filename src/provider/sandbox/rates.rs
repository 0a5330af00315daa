//! The sandbox's exchange rates: the table of `config.toml`, until the sandbox controls change it. Held in memory: a
//! restart restores the settings.

use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::port::{Clock, ErrorKind, PortError, PortFuture};
use rust_decimal::Decimal;

use crate::rates::{RateSource, RateTable};

/// A simulated source of rates.
pub struct SandboxRates {
    settings: Arc<RateTable>,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    table: Arc<RateTable>,
    /// Number of calls that get no response; `None` until cleared.
    unreachable_calls: Option<u32>,
}

/// Summary of the source.
#[derive(Clone, Debug)]
pub struct SandboxRateSummary {
    pub table: Arc<RateTable>,
    /// Remaining calls that get no response; `None` until cleared.
    pub unreachable_calls: Option<u32>,
}

impl SandboxRates {
    /// Starts with the table of the settings.
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

    /// Sets one rate from now on. False for a currency that is not in the table, or for the dollar.
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

    /// Lets this number of calls get no response; `None` until cleared.
    pub fn set_unreachable(&self, times: Option<u32>) {
        self.state.lock().unreachable_calls = times;
    }

    /// Restores the settings' rates and clears the fault.
    pub fn clear(&self) {
        let mut state = self.state.lock();
        state.table = self.settings.clone();
        state.unreachable_calls = Some(0);
    }

    /// Current table and remaining faults.
    pub fn state(&self) -> SandboxRateSummary {
        let state = self.state.lock();
        SandboxRateSummary {
            table: state.table.clone(),
            unreachable_calls: state.unreachable_calls,
        }
    }
}

impl RateSource for SandboxRates {
    fn current(&self) -> PortFuture<'_, Arc<RateTable>> {
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
    use purser_config::{Config, ConfigSources};

    struct StaticRates(u64);

    impl Clock for StaticRates {
        fn now(&self) -> Timestamp {
            Timestamp(self.0)
        }
    }

    fn decimal(text: &str) -> Decimal {
        Decimal::from_str_exact(text).unwrap()
    }

    // Checks: a changed rate is returned exactly, with its own time; clearing restores the settings.
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

    // Checks: an unreachable source is a temporary failure for the set number of calls.
    #[tokio::test]
    async fn unreachable_source_fails_for_the_set_number_of_calls() {
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

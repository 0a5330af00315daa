//! Whether a network accepts new payments: reported to callers, and logged on change.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::Network;

use super::RealPorts;
use crate::check::{ChainChecks, Checks, retry_until_valid};
use crate::gate::Gate;
use crate::supervised::Supervised;

/// Interval at which the log checks whether payments are accepted.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

impl RealPorts {
    /// The networks that do not accept new payments now, and why.
    pub fn blocked_networks(&self) -> Vec<(Network, Cow<'static, str>)> {
        let why = |network| Some((network, self.payments_blocked_reason(network)?));
        Network::ALL.into_iter().filter_map(why).collect()
    }

    /// Why a network does not accept new payments, or `None` if it does. The network was not verified, its blocks
    /// cannot be read, nothing becomes final, or no key can pay for transactions.
    pub(super) fn payments_blocked_reason(&self, network: Network) -> Option<Cow<'static, str>> {
        const SOLANA: &str = "the newest slots cannot be read, or no two endpoints show the same";
        const NO_FEE_PAYER: &str = "no facilitator answers, and no key of our own pays for transactions";
        let (why, pays_itself, others) = match network {
            Network::Base => (
                self.base.payments_blocked_reason(),
                !self.base.is_without_gas(),
                &self.base_facilitators,
            ),
            Network::Solana => {
                let why = self.solana.gate().closed_reason();
                // Clients cannot sign without a blockhash.
                let is_behind = !self.solana.is_up_to_date() || self.solana.recent_blockhash().is_none();
                let has_payers = !self.solana.status().fee_payers.is_empty();
                (
                    why.or(is_behind.then_some(Cow::Borrowed(SOLANA))),
                    has_payers,
                    &self.solana_facilitators,
                )
            }
        };
        let others_fail = others.as_ref().is_some_and(|list| list.all_paused());
        why.or((!pays_itself && others_fail).then_some(Cow::Borrowed(NO_FEE_PAYER)))
    }

    fn gate(&self, network: Network) -> &Arc<Gate> {
        match network {
            Network::Base => self.base.gate(),
            Network::Solana => self.solana.gate(),
        }
    }

    /// Verifies again the chains whose ports were opened without verification, until each matches the settings and is
    /// used.
    pub fn recheck(&self, checks: Checks) {
        for (network, checks) in [(Network::Base, checks.base), (Network::Solana, checks.solana)] {
            let gate = self.gate(network).clone();
            if gate.is_open() {
                continue;
            }
            tracing::warn!(
                network = network.name(),
                "no endpoint of the chain answers: the service starts without it and checks it until it does"
            );
            let (timer, checks): (_, Arc<ChainChecks>) = (self.timer.clone(), Arc::new(checks));
            let again = Supervised::start("checks a chain that did not answer at the start", move || {
                let (gate, timer, checks) = (gate.clone(), timer.clone(), checks.clone());
                async move { retry_until_valid(&checks, network, &gate, &*timer).await }
            });
            self.background.lock().push(again);
        }
    }

    /// Logs when a network stops or resumes accepting payments.
    pub(super) fn log_changes(self: &Arc<Self>) {
        let ports = Arc::downgrade(self);
        let telling = Supervised::start("tells the log which networks take payments", move || {
            let ports = ports.clone();
            async move {
                let mut logged = LoggedAvailability::default();
                while let Some(ports) = ports.upgrade() {
                    for network in Network::ALL {
                        logged.log(network, ports.payments_blocked_reason(network), ports.timer.now_ms());
                    }
                    drop(ports);
                    tokio::time::sleep(LOG_INTERVAL).await;
                }
            }
        });
        self.background.lock().push(telling);
    }
}

/// The logged state: since when a network accepts no payments (process time, in milliseconds), and why.
#[derive(Default)]
struct LoggedAvailability(HashMap<Network, (u64, Cow<'static, str>)>);

/// A log line.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Stopped {
        reason: Cow<'static, str>,
    },
    Resumed {
        /// Duration of the interruption.
        seconds: u64,
        /// Why payments were rejected at first.
        reason: Cow<'static, str>,
    },
}

impl LoggedAvailability {
    fn change(&mut self, network: Network, reason: Option<Cow<'static, str>>, now_ms: u64) -> Option<Change> {
        match reason {
            Some(_) if self.0.contains_key(&network) => None,
            Some(reason) => {
                self.0.insert(network, (now_ms, reason.clone()));
                Some(Change::Stopped { reason })
            }
            None => {
                let (since_ms, reason) = self.0.remove(&network)?;
                let seconds = now_ms.saturating_sub(since_ms) / 1_000;
                Some(Change::Resumed { seconds, reason })
            }
        }
    }

    fn log(&mut self, network: Network, reason: Option<Cow<'static, str>>, now_ms: u64) {
        let change = self.change(network, reason, now_ms);
        let network = network.name();
        match change {
            Some(Change::Stopped { reason }) => {
                tracing::warn!(network, why = %reason, "a network takes no new payments")
            }
            Some(Change::Resumed { seconds, reason }) => {
                tracing::info!(network, seconds, was = %reason, "a network takes new payments again");
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: one line when a network stops and one when it resumes, separately for each network.
    #[test]
    fn stopped_network_and_its_return_are_logged_once() {
        let mut logged = LoggedAvailability::default();
        let why = || Some(Cow::Borrowed("nothing is read"));
        let stopped = Change::Stopped {
            reason: "nothing is read".into(),
        };
        let resumed = Change::Resumed {
            seconds: 61,
            reason: "nothing is read".into(),
        };
        assert_eq!(logged.change(Network::Base, None, 0), None);
        assert_eq!(logged.change(Network::Base, why(), 1_000), Some(stopped));
        assert_eq!(
            logged.change(Network::Base, Some("nothing is final".into()), 2_000),
            None
        );
        assert_eq!(logged.change(Network::Solana, None, 2_000), None);
        assert_eq!(logged.change(Network::Base, None, 62_500), Some(resumed));
        assert_eq!(logged.change(Network::Base, None, 63_000), None);
    }
}

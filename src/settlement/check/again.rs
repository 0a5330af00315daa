//! The checks of a chain that did not answer at the start, made again until it fits the settings.

use std::time::Duration;

use purser_actors::id::Network;
use purser_chains::rpc::Clock;

use super::{ChainCheck, Findings, check_all};
use crate::settlement::gate::Gate;

/// Between two checks of a chain that does not answer.
pub const UNREAD_AGAIN: Duration = Duration::from_secs(5);
/// Between two checks of a chain that does not fit the settings.
pub const MISFIT_AGAIN: Duration = Duration::from_secs(15);

/// Opens the gate once everything was read and fits. Nothing of the chain is used before.
pub async fn until_it_fits(checks: &[Box<dyn ChainCheck>], network: Network, gate: &Gate, timer: &dyn Clock) {
    let network = network.name();
    let mut pause = UNREAD_AGAIN;
    loop {
        timer.sleep(pause).await;
        let found = check_all(checks).await;
        if found.is_empty() {
            gate.open();
            tracing::info!(
                network,
                "the chain answers and is the one of the settings: it is used from now on"
            );
            return;
        }
        pause = match say(&found, network, gate) {
            true => MISFIT_AGAIN,
            false => UNREAD_AGAIN,
        };
    }
}

/// Why the gate stays closed. Whether the chain does not fit the settings.
fn say(found: &Findings, network: &str, gate: &Gate) -> bool {
    if found.wrong.is_empty() {
        gate.is_unread();
        return false;
    }
    // Names of settings alone: everybody can read this. The log has the rest.
    let settings: Vec<&str> = found.wrong.iter().filter_map(|wrong| wrong.key()).collect();
    let why = format!(
        "the chain behind the endpoints does not fit the settings: {}; the log says why",
        settings.join(", ")
    );
    if gate.misfits(why) {
        for wrong in &found.wrong {
            tracing::error!(network, %wrong, "the chain that did not answer at the start does not fit the settings: it is not used");
        }
    }
    true
}

//! Repeats the checks of a chain that did not respond at the start, until it matches the settings.

use std::time::Duration;

use purser_actors::id::Network;
use purser_chains::rpc::Clock;

use super::{ChainCheck, Findings, check_all};
use crate::gate::Gate;

/// Interval between checks of a chain that does not respond.
pub const UNREACHABLE_RETRY: Duration = Duration::from_secs(5);
/// Interval between checks of a chain that does not match the settings.
pub const MISMATCH_RETRY: Duration = Duration::from_secs(15);

/// Opens the gate once everything was read and matches. The chain is not used before.
pub async fn retry_until_valid(checks: &[Box<dyn ChainCheck>], network: Network, gate: &Gate, timer: &dyn Clock) {
    let network = network.name();
    let mut pause = UNREACHABLE_RETRY;
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
        pause = match log_findings(&found, network, gate) {
            true => MISMATCH_RETRY,
            false => UNREACHABLE_RETRY,
        };
    }
}

/// Logs why the gate stays closed. Returns whether the chain contradicts the settings.
fn log_findings(found: &Findings, network: &str, gate: &Gate) -> bool {
    if found.mismatches.is_empty() {
        gate.mark_unreachable();
        return false;
    }
    // Only names of settings: this text is public. The log has the details.
    let settings: Vec<&str> = found.mismatches.iter().filter_map(|wrong| wrong.key()).collect();
    let why = format!(
        "the chain behind the endpoints does not fit the settings: {}; the log says why",
        settings.join(", ")
    );
    if gate.record_mismatch(why) {
        for wrong in &found.mismatches {
            tracing::error!(network, %wrong, "the chain that did not answer at the start does not fit the settings: it is not used");
        }
    }
    true
}

//! The pause of outgoing transfers after a restore.

use super::Config;
use super::found::ConfigErrors;
use purser_protocol::payment::evm::MAX_EXTRA_VALIDITY_SECONDS;
use purser_protocol::wallet::MAX_SIGNED_VALIDITY_S;

/// The longest validity of anything that we accept or sign, in seconds.
fn max_authorization_validity_s(config: &Config) -> u64 {
    let accepted = config
        .payment
        .quote_ttl_seconds
        .saturating_add(MAX_EXTRA_VALIDITY_SECONDS);
    accepted.max(MAX_SIGNED_VALIDITY_S.into())
}

/// A shorter pause could let a transfer be sent twice.
pub(super) fn check(config: &Config, found: &mut ConfigErrors) {
    let least = max_authorization_validity_s(config);
    let reason = format!(
        "must be at least {least}: the time in which a payment that a lost history accepted or signed can settle \
         (payment.quote_ttl_seconds and {MAX_EXTRA_VALIDITY_SECONDS} more, and what is signed here)"
    );
    let quiet = config.engine.restore_pause_seconds;
    found.require(quiet >= least, "engine.restore_pause_seconds", &reason);
}

//! How long nothing leaves after a restore.

use super::Config;
use super::validate::Found;
use crate::agent_wallet::signer::MAX_VALIDITY_S;
use crate::payment::evm::MAX_EXTRA_LIFE_SECONDS;
use crate::settlement::sandbox::LONGEST_SIGNED_S;

/// The longest life of anything that we accept or sign, in seconds.
fn longest_authorization_s(config: &Config) -> u64 {
    let accepted = config
        .payment
        .max_timeout_seconds
        .saturating_add(MAX_EXTRA_LIFE_SECONDS);
    accepted.max(MAX_VALIDITY_S.into()).max(LONGEST_SIGNED_S)
}

/// A shorter time would let something leave a second time.
pub(super) fn check(config: &Config, found: &mut Found) {
    let least = longest_authorization_s(config);
    let reason = format!(
        "must be at least {least}: for so long something that a lost history accepted or signed can land \
         (payment.max_timeout_seconds and {MAX_EXTRA_LIFE_SECONDS} more, and what is signed here)"
    );
    let quiet = config.engine.restored_quiet_seconds;
    found.require(quiet >= least, "engine.restored_quiet_seconds", &reason);
}

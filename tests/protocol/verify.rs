//! The verdict on a payment of the tests.

use purser::payment::evm::SignatureRecovery;
use purser::payment::{Terms, decode, verify};
use purser_actors::port::{Authorization, Timestamp};
use serde_json::Value;

use crate::seller::{NOW, encode};

/// `Ok`, or the reason on the wire.
pub(crate) fn verdict(payment: &Value, terms: &[Terms]) -> Result<Authorization, &'static str> {
    verdict_by(payment, terms, SignatureRecovery::Libsecp256k1)
}

pub(crate) fn verdict_by(
    payment: &Value,
    terms: &[Terms],
    recovery: SignatureRecovery,
) -> Result<Authorization, &'static str> {
    let payment = decode(encode(payment).as_bytes()).map_err(|refusal| refusal.reason.as_str())?;
    let verified = verify(&payment, terms, &[], Timestamp(NOW * 1000), recovery);
    verified
        .map(|verified| verified.authorization)
        .map_err(|refusal| refusal.reason.as_str())
}

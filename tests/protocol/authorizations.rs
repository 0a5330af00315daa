//! EIP-3009 authorizations over all values of their fields, really signed.

use purser_actors::id::Network;
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use serde_json::{Value, json};

use crate::input::FuzzInput;
use crate::seller::{NOW, PAY_TO_BASE, PRICE, buyer, offers, pay};

/// Fields around the edges of every rule, with the buyer's signature for a domain.
pub(crate) fn signed_fields(domain: &[u8; 32], dice: &mut FuzzInput<'_>) -> EvmAuthorization {
    let edge = *dice.of(&[NOW + 6, NOW + 300, NOW + 900]);
    let mut fields = EvmAuthorization {
        from: [0; 20],
        to: *dice.of(&[PAY_TO_BASE, PAY_TO_BASE, PAY_TO_BASE, buyer().evm_address()]),
        value: Usdc::from_atomic(dice.number(PRICE)),
        valid_after: dice.number(NOW),
        valid_before: dice.number(edge),
        nonce: [dice.byte(); 32],
        signature: [0; 65].into(),
    };
    buyer().sign_transfer(domain, &mut fields);
    fields
}

/// A payment with these fields, in stock form.
pub(crate) fn carrying(fields: &EvmAuthorization) -> Value {
    let hex = |bytes: &[u8]| format!("0x{}", hex::encode(bytes));
    let mut payment = pay(&offers(), Network::Base);
    payment["payload"] = json!({
        "authorization": {
            "from": hex(&fields.from), "to": hex(&fields.to), "value": fields.value.atomic().to_string(),
            "validAfter": fields.valid_after.to_string(), "validBefore": fields.valid_before.to_string(),
            "nonce": hex(&fields.nonce),
        },
        "signature": hex(fields.signature.as_bytes()),
    });
    payment
}

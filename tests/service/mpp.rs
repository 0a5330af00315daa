//! Credentials of the Machine Payments Protocol, as sent and as modified by tests.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use purser::payment::BasePayee;
use purser::payment::evm::parse_address;
use purser::wallet::MppOffer;
use purser_actors::money::Usdc;
use purser_actors::port::EvmAuthorization;
use serde_json::{Value, json};

use super::agent::Agent;
use super::http::{Response, ServiceClient};

impl Agent {
    /// Answers the MPP challenge of a 402: the value of `Authorization`.
    pub(crate) fn credential(&self, challenged: &Response) -> String {
        let field = challenged.header("www-authenticate").expect("no MPP challenge");
        self.wallet.pay_mpp(&MppOffer::from_header(field).unwrap())
    }
}

pub(crate) async fn pay(site: &ServiceClient<'_>, path: &str, credential: &str) -> Response {
    site.get(path, &[("authorization", credential)]).await
}

pub(crate) fn decoded(text: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
}

/// The decoded content of a credential.
pub(crate) fn read(credential: &str) -> Value {
    decoded(credential.strip_prefix("Payment ").unwrap())
}

fn written(credential: &Value) -> String {
    format!("Payment {}", URL_SAFE_NO_PAD.encode(credential.to_string()))
}

/// A credential with changed content.
pub(crate) fn altered(credential: &str, pointer: &str, value: Value) -> String {
    let mut changed = read(credential);
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    changed.pointer_mut(parent).unwrap()[name] = value;
    written(&changed)
}

/// The same challenge answered by the same wallet, with a payment that expires a second earlier.
pub(crate) fn resigned(agent: &Agent, credential: &str) -> String {
    let mut changed = read(credential);
    let payload = &mut changed["payload"];
    let text = |name: &str| payload[name].as_str().unwrap().to_owned();
    let mut nonce = [0; 32];
    hex::decode_to_slice(&text("nonce")[2..], &mut nonce).unwrap();
    let mut signed = EvmAuthorization {
        from: [0; 20],
        to: parse_address(&text("to")).unwrap(),
        value: Usdc::from_atomic(text("value").parse().unwrap()),
        valid_after: 0,
        valid_before: text("validBefore").parse::<u64>().unwrap() - 1,
        nonce,
        signature: [0; 65].into(),
    };
    let domain = BasePayee::sandbox(signed.to).mpp_domain_separator;
    agent.wallet.sign_transfer(&domain, &mut signed);
    payload["validBefore"] = json!(signed.valid_before.to_string());
    payload["signature"] = json!(format!("0x{}", hex::encode(&signed.signature)));
    written(&changed)
}

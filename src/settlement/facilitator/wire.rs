//! Requests to a facilitator, and its `/supported` response: x402 version 2, scheme `exact`.

use purser_actors::id::Network;
use purser_actors::port::EvmAuthorization;
use purser_chains::solana::address::{Pubkey, base58, parse as parse_pubkey};
use serde_json::{Value, json};

use purser_protocol::payment::decode::EvmPayload;
use purser_protocol::payment::evm::{checksummed, parse_address};
use purser_protocol::payment::{BaseChain, SolanaChain};

/// `maxTimeoutSeconds` of the payment requirements. Nothing depends on it: a payment's own fields limit its validity.
const MAX_TIMEOUT_S: u32 = 300;

/// The chain that a list of facilitators serves.
#[derive(Clone, Copy, Debug)]
pub enum Chain {
    /// Base or Base Sepolia.
    Base(BaseChain),
    /// A Solana cluster.
    Solana(SolanaChain),
}

impl Chain {
    /// The network of this chain.
    pub const fn network(&self) -> Network {
        match self {
            Self::Base(_) => Network::Base,
            Self::Solana(_) => Network::Solana,
        }
    }

    /// CAIP-2 id of the chain.
    pub const fn caip2(&self) -> &'static str {
        match self {
            Self::Base(chain) => chain.caip2,
            Self::Solana(chain) => chain.caip2,
        }
    }

    /// Section of the settings for this chain.
    pub const fn section(&self) -> &'static str {
        match self {
            Self::Base(_) => "chains.base",
            Self::Solana(_) => "chains.solana",
        }
    }

    fn asset(&self) -> String {
        match self {
            Self::Base(chain) => checksummed(&chain.token.asset),
            Self::Solana(chain) => base58(&chain.mint),
        }
    }

    fn is_asset(&self, text: &str) -> bool {
        match self {
            Self::Base(chain) => parse_address(text) == Some(chain.token.asset),
            Self::Solana(chain) => parse_pubkey(text) == Some(chain.mint),
        }
    }
}

/// The body of `/verify` and `/settle`.
fn body(requirements: &Value, payload: &Value) -> Value {
    json!({
        "x402Version": 2,
        "paymentPayload": {"x402Version": 2, "accepted": requirements, "payload": payload},
        "paymentRequirements": requirements,
    })
}

/// The request body for a payment on Base.
pub(crate) fn base_body(chain: &BaseChain, signed: &EvmAuthorization) -> Value {
    let requirements = json!({
        "scheme": "exact",
        "network": chain.caip2,
        "asset": checksummed(&chain.token.asset),
        "amount": signed.value.atomic().to_string(),
        "payTo": checksummed(&signed.to),
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": {"name": chain.token.name, "version": chain.token.version},
    });
    body(&requirements, &json!(EvmPayload::from(signed)))
}

/// The request body for a payment on Solana.
pub(crate) fn solana_body(
    chain: &SolanaChain,
    (pay_to, fee_payer): (&Pubkey, &Pubkey),
    amount: u64,
    transaction_base64: &str,
) -> Value {
    let requirements = json!({
        "scheme": "exact",
        "network": chain.caip2,
        "asset": base58(&chain.mint),
        "amount": amount.to_string(),
        "payTo": base58(pay_to),
        "maxTimeoutSeconds": MAX_TIMEOUT_S,
        "extra": {"feePayer": base58(fee_payer)},
    });
    body(&requirements, &json!({"transaction": transaction_base64}))
}

/// The supported kind that matches our chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Support {
    /// On Solana, the fee payer of the next payments.
    pub(super) fee_payer: Option<Pubkey>,
}

/// Parses a `/supported` response.
///
/// # Errors
/// What is missing, or why it cannot be parsed.
pub(super) fn support(answer: &[u8], chain: &Chain) -> Result<Support, String> {
    let answer: Value = serde_json::from_slice(answer).map_err(|_| "its /supported is not JSON".to_owned())?;
    let Some(kinds) = answer.get("kinds").and_then(Value::as_array) else {
        return Err("its /supported has no list of kinds".to_owned());
    };
    let is = |kind: &Value, key: &str, value: &str| kind.get(key).and_then(Value::as_str) == Some(value);
    let network = chain.caip2();
    let fits = |kind: &&Value| {
        kind.get("x402Version").and_then(Value::as_u64) == Some(2)
            && is(kind, "scheme", "exact")
            && is(kind, "network", network)
    };
    let Some(kind) = kinds.iter().find(fits) else {
        return Err(format!("does not support scheme exact of x402 version 2 on {network}"));
    };
    let extra = kind.get("extra").unwrap_or(&Value::Null);
    let assets = assets(extra);
    if !assets.is_empty() && !assets.iter().any(|asset| chain.is_asset(asset)) {
        return Err(format!("does not support the asset {} on {network}", chain.asset()));
    }
    let fee_payer = match chain {
        Chain::Base(_) => None,
        Chain::Solana(_) => {
            let named = extra.get("feePayer").and_then(Value::as_str).and_then(parse_pubkey);
            Some(named.ok_or_else(|| format!("names no feePayer for {network} in its /supported"))?)
        }
    };
    Ok(Support { fee_payer })
}

/// The assets that a kind is limited to; most kinds list none.
fn assets(extra: &Value) -> Vec<&str> {
    // Both forms are in use: a string, or an object with an address.
    fn one(asset: &Value) -> Option<&str> {
        match asset {
            Value::Object(fields) => fields.get("address")?.as_str(),
            other => other.as_str(),
        }
    }
    let listed = extra.get("assets").and_then(Value::as_array);
    let single = extra.get("asset");
    listed.into_iter().flatten().chain(single).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use purser_actors::money::Usdc;

    use super::*;

    const BASE: Chain = Chain::Base(BaseChain::MAINNET);
    const SOLANA: Chain = Chain::Solana(SolanaChain::MAINNET);
    const FEE_PAYER: Pubkey = [9; 32];

    fn kind(chain: &Chain, extra: &Value) -> Value {
        json!({"x402Version": 2, "scheme": "exact", "network": chain.caip2(), "extra": extra})
    }

    fn supports(kinds: &Value, chain: &Chain) -> Result<Support, String> {
        let answer = json!({"kinds": kinds, "extensions": [], "signers": {}});
        support(answer.to_string().as_bytes(), chain)
    }

    // Checks: a kind matches only with version 2 of `exact` and our chain, with our asset if assets are listed, and on
    // Solana with a fee payer.
    #[test]
    fn a_facilitator_must_support_our_scheme_network_and_asset() {
        let usdc = checksummed(&BaseChain::MAINNET.token.asset);
        let plain = Support { fee_payer: None };
        for extra in [
            Value::Null,
            json!({}),
            json!({"assets": [usdc.to_lowercase()]}),
            json!({"assets": [{"address": "0x01"}, {"address": usdc}]}),
            json!({"asset": usdc}),
        ] {
            assert_eq!(supports(&json!([kind(&BASE, &extra)]), &BASE), Ok(plain), "{extra}");
        }
        let fee_payer = json!({"feePayer": base58(&FEE_PAYER)});
        let with = Support {
            fee_payer: Some(FEE_PAYER),
        };
        assert_eq!(supports(&json!([kind(&SOLANA, &fee_payer)]), &SOLANA), Ok(with));

        let mut first = kind(&BASE, &Value::Null);
        first["x402Version"] = json!(1);
        let mut upto = kind(&BASE, &Value::Null);
        upto["scheme"] = json!("upto");
        let sepolia = kind(&Chain::Base(BaseChain::SEPOLIA), &Value::Null);
        let missing = "does not support scheme exact of x402 version 2 on eip155:8453";
        for kinds in [json!([]), json!([first]), json!([upto]), json!([sepolia])] {
            assert_eq!(supports(&kinds, &BASE), Err(missing.to_owned()), "{kinds}");
        }
        let other = json!([kind(&BASE, &json!({"assets": ["0x01"]}))]);
        assert!(
            supports(&other, &BASE)
                .unwrap_err()
                .contains("does not support the asset")
        );
        let none = json!([kind(&SOLANA, &json!({"feePayer": "no key"}))]);
        assert!(supports(&none, &SOLANA).unwrap_err().contains("names no feePayer"));
        for answer in ["", "<html>", "{}", "{\"kinds\": 1}"] {
            assert!(support(answer.as_bytes(), &BASE).is_err(), "{answer}");
        }
    }

    // Checks: the bodies follow the protocol, with the same requirements twice and numbers as decimal strings.
    #[test]
    fn a_payment_is_presented_as_the_protocol_has_it() {
        let signed = EvmAuthorization {
            from: [1; 20],
            to: [2; 20],
            value: Usdc::from_atomic(5_000_000),
            valid_after: 0,
            valid_before: 1_700_000_300,
            nonce: [3; 32],
            signature: [4; 65].into(),
        };
        let body = base_body(&BaseChain::MAINNET, &signed);
        assert_eq!(body["x402Version"], 2);
        assert_eq!(body["paymentPayload"]["x402Version"], 2);
        let required = &body["paymentRequirements"];
        assert_eq!(&body["paymentPayload"]["accepted"], required);
        assert_eq!(required["asset"], "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913");
        assert_eq!(
            (&required["amount"], &required["network"], &required["scheme"]),
            (&json!("5000000"), &json!("eip155:8453"), &json!("exact"))
        );
        assert_eq!(required["extra"], json!({"name": "USD Coin", "version": "2"}));
        let authorization = &body["paymentPayload"]["payload"]["authorization"];
        assert_eq!(authorization["validBefore"], "1700000300");
        assert_eq!(authorization["nonce"], format!("0x{}", "03".repeat(32)));
        assert_eq!(required["payTo"], authorization["to"]);
        let signature = format!("0x{}", "04".repeat(65));
        assert_eq!(body["paymentPayload"]["payload"]["signature"], signature);

        let body = solana_body(&SolanaChain::MAINNET, (&[5; 32], &FEE_PAYER), 7, "AQAB");
        let required = &body["paymentRequirements"];
        assert_eq!(required["payTo"], base58(&[5; 32]));
        assert_eq!(required["extra"]["feePayer"], base58(&FEE_PAYER));
        assert_eq!(body["paymentPayload"]["payload"], json!({"transaction": "AQAB"}));
        assert_eq!(&body["paymentPayload"]["accepted"], required);
    }
}

//! Requirements on a facilitator at the start, and its authentication.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ed25519_dalek::SigningKey;
use serde_json::{Value, json};

use super::*;
use crate::check::ChainCheck as _;
use crate::facilitator::{CdpKey, FacilitatorCheck};
use purser_host::secret::Secret;

async fn startup_errors(world: &Harness, servers: &[usize]) -> Vec<(String, String)> {
    let settings = servers.iter().map(|n| settings(&world.servers[*n])).collect();
    let found = FacilitatorCheck::new(MAINNET, settings).check().await;
    let named = found
        .mismatches
        .iter()
        .map(|error| (error.key().unwrap().to_owned(), error.to_string()));
    named.collect()
}

// Checks: a facilitator that responds but does not support our payments is rejected by its setting. One that does not
// respond is not.
#[tokio::test]
async fn a_facilitator_for_something_else_ends_the_start() {
    let mut world = Harness::start(&[Mode::Succeeds; 4]).await;
    world.servers[1].supports(json!([{"x402Version": 2, "scheme": "exact", "network": "eip155:84532"}]));
    let other = json!({"assets": ["0x0000000000000000000000000000000000000001"]});
    world.servers[2].supports(json!([{"x402Version": 2, "scheme": "exact", "network": "eip155:8453", "extra": other}]));
    world.servers[3].stop().await;
    let found = startup_errors(&world, &[0, 1, 2, 3]).await;
    let keys: Vec<&str> = found.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["chains.base.facilitators[1]", "chains.base.facilitators[2]"]);
    assert!(
        found[0].1.contains("exact of x402 version 2 on eip155:8453"),
        "{found:?}"
    );
    assert!(found[1].1.contains("asset"), "{found:?}");
}

// Checks: every route is called with the configured authentication; for CDP with a JWT for that route.
#[tokio::test]
async fn every_call_is_authenticated() {
    let world = Harness::start(&[Mode::Succeeds]).await;
    let fixed = FacilitatorSettings {
        auth: Auth::Header(Secret::new("Bearer of-the-operator".to_owned())),
        ..settings(&world.servers[0])
    };
    let port = world.open_with(vec![fixed]).await;
    submit(&port, &payment(1)).await;
    let fixed = |route: &str| (route.to_owned(), "Bearer of-the-operator".to_owned());
    let all = ["supported", "verify", "settle"].map(fixed);
    assert_eq!(world.servers[0].authorization(), all);

    let world = Harness::start(&[Mode::Succeeds]).await;
    let secret = STANDARD.encode(SigningKey::from_bytes(&[7; 32]).to_keypair_bytes());
    let cdp = FacilitatorSettings {
        auth: Auth::Cdp(CdpKey::parse("id", &secret).unwrap()),
        ..settings(&world.servers[0])
    };
    let host = format!("127.0.0.1:{}", cdp.url.port().unwrap());
    let port = world.open_with(vec![cdp]).await;
    submit(&port, &payment(1)).await;
    let tokens = world.servers[0].authorization();
    let methods = [("supported", "GET"), ("verify", "POST"), ("settle", "POST")];
    assert_eq!(tokens.len(), methods.len());
    for ((route, token), (expected, method)) in tokens.iter().zip(methods) {
        assert_eq!(route, expected);
        let claims = token.strip_prefix("Bearer ").unwrap().split('.').nth(1).unwrap();
        let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
        assert_eq!(claims["uris"], json!([format!("{method} {host}/x402/{route}")]));
    }
}

// Checks: while a facilitator supports something else, the next one is used. It is used again once it supports our
// payments.
#[tokio::test]
async fn a_facilitator_that_changes_is_passed_over() {
    let world = Harness::start(&[Mode::Succeeds, Mode::Succeeds]).await;
    let port = world.open(&[0, 1]).await;
    world.servers[0].supports(json!([]));
    assert!(!port.list.refresh().await);
    submit(&port, &payment(1)).await;
    assert_eq!(world.settles(), [0, 1]);
    world.servers[0].supports(json!([{"x402Version": 2, "scheme": "exact", "network": "eip155:8453"}]));
    assert!(port.list.refresh().await);
    submit(&port, &payment(2)).await;
    assert_eq!(world.settles(), [1, 1]);
}

//! A restart of the whole service while all endpoints of Base are down.

use purser_actors::id::Network;
use serde_json::{Value, json};

use crate::local_chains::{BASE_USDC, LocalChains, Production, until};
use crate::production::{ORDER, PRICE, ended, signed, wallet};
use crate::rpc_proxy::RpcProxy;

/// Why a network is down, by `/readyz`.
async fn down(production: &Production, network: &str) -> Option<String> {
    let (status, _, body) = production.purser.get("/readyz", &[]).await;
    assert_eq!(status, 200, "{body}");
    let why = &body["networks_down_reasons"][network];
    why.as_str().map(str::to_owned)
}

// Checks: the service starts, sells on Solana and rejects Base without a charge. Once Base responds it is checked
// first: it stays down without USDC and sells again with it. Both changes are logged.
#[tokio::test(flavor = "multi_thread")]
async fn restart_without_base_sells_on_solana_and_resumes() {
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    let [base, solana] = chains.urls();
    let (one, two) = (
        RpcProxy::start(&base, 1, false).await,
        RpcProxy::start(&base, 2, false).await,
    );
    let endpoints = [
        vec![one.url.clone(), two.url.clone()],
        vec![solana.replace("127.0.0.1", "localhost"), solana],
    ];
    let mut production = Production::start_on(chains, &endpoints).await;
    let wallet = wallet("restarts", &production).await;
    let before = signed(&production, &wallet, Network::Base).await;
    assert_eq!(ended(&production, ORDER, &before).await, 200);

    for proxy in [&one, &two] {
        proxy.set_responding(false);
    }
    production.purser.run();
    let why = down(&production, "base").await.unwrap();
    assert!(why.contains("have not answered since the start"), "{why}");
    assert_eq!(down(&production, "solana").await, None);
    let on_solana = signed(&production, &wallet, Network::Solana).await;
    assert_eq!(ended(&production, ORDER, &on_solana).await, 200);
    let on_base = signed(&production, &wallet, Network::Base).await;
    let (status, _, body) = production.purser.get(ORDER, &[("payment-signature", &on_base)]).await;
    assert_eq!(
        (status, &body["code"]),
        (503, &json!("settlement_unavailable")),
        "{body}"
    );

    let code = production
        .chains
        .base("eth_getCode", json!([BASE_USDC, "latest"]))
        .await;
    let set = async |code: Value| production.chains.base("anvil_setCode", json!([BASE_USDC, code])).await;
    set(json!("0x")).await;
    for proxy in [&one, &two] {
        proxy.set_responding(true);
    }
    until("Base is checked and does not fit", async || {
        let why = down(&production, "base").await.unwrap();
        why.contains("chains.base.usdc").then_some(())
    })
    .await;
    set(code).await;
    until("Base is used again", async || {
        down(&production, "base").await.is_none().then_some(())
    })
    .await;
    assert_eq!(ended(&production, ORDER, &on_base).await, 200);
    assert_eq!(production.treasury("base").await, 2 * PRICE);
    let log = production.purser.log();
    for line in ["a network takes no new payments", "a network takes new payments again"] {
        assert_eq!(log.matches(line).count(), 1, "{line}");
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

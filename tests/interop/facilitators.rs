//! `mode = "production"` without a gas key: published facilitators settle on local Base and Solana. They are
//! `@x402/core` with `@x402/evm` and `@x402/svm` from npm, and `x402` from PyPI.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use purser::wallet::TestWallet;
use purser_actors::id::Network;
use purser_chains::solana::address::parse;
use serde_json::json;

use crate::local_chains::{ETHER, LocalChains, Production, until};
use crate::node::{Node, folder};
use crate::production::{ORDER, PRICE, assert_metrics_documented, buyer, cancel, key, network, wallet, withdraw};
use crate::python::Python;
use crate::{NETWORKS, receipt, statuses, text};

/// A running facilitator; ended when dropped.
struct Facilitator {
    child: Child,
    url: String,
    /// Pays gas and fees with it.
    wallet: TestWallet,
}

impl Facilitator {
    /// Starts the program on the chains, with a key that has ether and SOL.
    async fn start(mut program: Command, name: &str, chains: &LocalChains) -> Self {
        let wallet = TestWallet::from_bytes(&key(name), &key(name)).unwrap();
        let (evm, svm) = (wallet.address(Network::Base), wallet.address(Network::Solana));
        chains.base("anvil_setBalance", json!([evm, ETHER])).await;
        chains.solana.set_lamports(&parse(&svm).unwrap(), 1_000_000_000).await;
        let mut child = program
            .arg(hex::encode(key(name)))
            .args(chains.urls())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines.next().expect("it says where it listens").unwrap();
        // What follows must not meet a closed pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let url = format!("http://{address}");
        Self { child, url, wallet }
    }
}

impl Drop for Facilitator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_facilitator_from_npm_settles_on_both_chains() {
    let Some(node) = Node::ready() else { return };
    settles_on_both_chains(node.script("facilitator-server.mjs"), "npm", node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_facilitator_from_pypi_settles_on_both_chains() {
    let (Some(node), Some(python)) = (Node::ready(), Python::ready()) else {
        return;
    };
    let mut program = python.program("python");
    program.arg(folder().join("facilitator_server.py"));
    settles_on_both_chains(program, "pypi", node).await;
}

/// Checks: without a gas key and a fee payer key, a stock client buys on each chain. The facilitator sends one transfer
/// per purchase and settles a withdrawal too. Afterwards the ledger, the store and the chains agree.
async fn settles_on_both_chains(program: Command, from: &str, node: Node) {
    let Some(chains) = LocalChains::start().await else {
        return;
    };
    let of = format!("pays through the facilitator of {from}");
    let facilitator = Facilitator::start(program, &format!("facilitator of {from}"), &chains).await;
    let mut production = Production::start_facilitated(chains, &facilitator.url).await;
    let wallet = wallet(&of, &production).await;
    for (chain, _) in NETWORKS {
        let call = node.call(&production.purser.url(ORDER), &buyer(&of, chain, &production));
        assert_eq!(statuses(&call), [402, 200], "{call:#}");
        let settlement = receipt(&call["headers"]);
        assert_eq!(settlement["success"], true, "{call:#}");
        assert_eq!(production.treasury(chain).await, PRICE, "{chain}");
        let sender = production.chains.sender(chain, text(&settlement["transaction"])).await;
        assert!(
            sender.eq_ignore_ascii_case(&facilitator.wallet.address(network(chain))),
            "{settlement}"
        );

        // The same payment again buys nothing and moves nothing.
        let payment = text(&call["exchanges"][1]["sent"]["payment-signature"]);
        let (status, _, again) = production.purser.get(ORDER, &[("payment-signature", payment)]).await;
        let order = &call["body"]["intl_card_order"];
        assert_eq!((status, &again["intl_card_order"]["card_id"]), (200, &order["card_id"]));

        cancel(
            &production,
            text(&call["body"]["auth"]["id_token"]),
            text(&order["card_id"]),
        )
        .await;
        withdraw(&production, text(&call["body"]["auth"]["id_token"]), 100).await;
        let left = 1_000_000_000 - PRICE + 100_000_000;
        let address = wallet.address(network(chain));
        assert_eq!(production.chains.usdc_balance(chain, &address).await, left, "{chain}");
        assert_eq!(production.treasury(chain).await, PRICE - 100_000_000, "{chain}");
    }
    declined_before_the_claim(node, &production).await;
    for (chain, _) in NETWORKS {
        // One transfer a purchase, and one a withdrawal.
        let listed = until("the chain's list has both transfers", async || {
            let listed = production.listed(chain).await;
            (listed.len() >= 2).then_some(listed)
        })
        .await;
        assert_eq!(listed.len(), 2, "{listed:?}");
    }
    let figures = assert_metrics_documented(&production, &["Facilitators"]).await;
    for (chain, _) in NETWORKS {
        let facilitator = format!("network=\"{chain}\",facilitator=\"{}\"", facilitator.url);
        let settled = format!("purser_facilitator_payments_total{{{facilitator}}} 2");
        let asked = format!("purser_prechecks_declined_total{{network=\"{chain}\",reason=\"insufficient_funds\"}} 1");
        for line in [settled, asked] {
            assert!(figures.lines().any(|shown| shown == line), "{line}: {figures}");
        }
    }
    production.purser.stop().await;
    production.offline("verify");
    production.offline("reconcile");
}

/// A wallet with too little money is declined on each chain, and the facilitator never hears of it.
async fn declined_before_the_claim(node: Node, production: &Production) {
    const OF: &str = "has too little";
    let wallet = TestWallet::from_bytes(&key(OF), &key(OF)).unwrap();
    let chains = &production.chains;
    chains.set_base_usdc(&wallet.address(Network::Base), 1).await;
    chains.set_solana_usdc(&wallet.address(Network::Solana), 1).await;
    for (chain, _) in NETWORKS {
        let call = node.call(&production.purser.url(ORDER), &buyer(OF, chain, production));
        assert_eq!(statuses(&call), [402, 402], "{call:#}");
        assert_eq!(call["body"]["errorReason"], "insufficient_funds", "{call:#}");
    }
}

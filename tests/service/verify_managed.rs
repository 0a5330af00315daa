//! `purser verify` on agent wallets: owners of addresses and wallet payments.

use purser_actors::entity::payment::Payment;
use purser_actors::id::{Network, Wallet};
use purser_actors::kernel::{EntityKind, table};
use purser_storage::{Row, RowKey, Write, codec};
use serde_json::json;

use super::agent_wallet::{opened, with_open};
use super::banking::result;
use super::host::Host;
use super::http::ServiceClient;
use super::verify::{assert_problem, rewritten};

#[tokio::test(flavor = "multi_thread")]
async fn case_73_verify_reports_foreign_addresses_and_wallet_payments() {
    // Checks: an address without its row, a row with another account, and a wallet payment of another account are each
    // reported by name.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (_, token, wallet) = opened(&site, Network::Base).await;
    result(&site, &token, "agentX402Pay", json!({"route": "/get-card?amount=5"})).await;
    with_open(&site, &token, 0).await;
    service.stop();
    host.assert_verified();
    let address: Wallet = wallet["addresses"]["base"].as_str().unwrap().parse().unwrap();
    let row = table::address(&address);
    let stranger = Wallet::Evm([0x77; 20]);
    let gone = |key: &RowKey, _: &Row| Some(vec![Write::Delete { key: key.clone() }]);
    let moved = |key: &RowKey, old: &Row| {
        Some(vec![Write::Put {
            key: key.clone(),
            revision: old.revision,
            value: stranger.key(),
        }])
    };
    let (copy, changed) = rewritten(&host, "gone", &row, gone).await;
    assert_eq!(changed, 1);
    assert_problem(&host, &copy, "agent_wallet.address", &address.address());
    let (copy, _) = rewritten(&host, "moved", &row, moved).await;
    assert_problem(&host, &copy, "agent_wallet.address", &address.address());
    let payments = [table::ENTITY, EntityKind::Payment as u8];
    let taken = |key: &RowKey, old: &Row| {
        let mut payment: Payment = codec::decode(&old.value).unwrap();
        payment.claim.account = payment.payer();
        Some(vec![Write::Put {
            key: key.clone(),
            revision: old.revision,
            value: codec::encode(&payment),
        }])
    };
    let (copy, changed) = rewritten(&host, "taken", &payments, taken).await;
    assert_eq!(changed, 1);
    assert_problem(&host, &copy, "payment.account", "pay_");
}

//! `purser verify` on agent wallets: owners of addresses and wallet payments, and what counts toward caps.

use std::path::PathBuf;

use purser_actors::entity::account::{self, Account, CapReservation};
use purser_actors::entity::agent_wallet::{self, AgentWallet, WalletHold};
use purser_actors::entity::payment::Payment;
use purser_actors::id::{Network, Wallet, WalletPaymentId};
use purser_actors::kernel::{Entity, EntityKind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::product::ProductLine;
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

/// A copy of the store with another snapshot of the only entity of this kind, as if other events had happened.
async fn with_snapshot<E: Entity>(host: &Host, name: &str, change: impl Fn(E) -> E) -> PathBuf {
    let entities = [table::ENTITY, E::KIND as u8];
    let rewrite = |key: &RowKey, old: &Row| {
        let entity = change(codec::decode(&old.value).unwrap());
        Some(vec![Write::Put {
            key: key.clone(),
            revision: old.revision,
            value: codec::encode(&entity),
        }])
    };
    let (copy, rows) = rewritten(host, name, &entities, rewrite).await;
    assert_eq!(rows, 1, "{name}");
    copy
}

#[tokio::test(flavor = "multi_thread")]
async fn verify_recounts_what_counts_toward_caps() {
    // Checks: an agent buys with an API key. Another sum of the wallet's day, another sum of a merchant, another count of a
    // product of the account, and a missing count of the key are each reported by name. Without a change nothing is.
    let host = Host::new();
    let service = host.start();
    let site = ServiceClient::of(&service);
    let (agent, token, _) = opened(&site, Network::Base).await;
    let made = result(&site, &token, "createAgentApiKey", json!({"name": "buyer"})).await;
    let entered = result(&site, made["apiKey"].as_str().unwrap(), "agentAuth", json!({})).await;
    let of_key = entered["idToken"].as_str().unwrap();
    for _ in 0..2 {
        result(&site, of_key, "agentX402Pay", json!({"route": "/get-card?amount=5"})).await;
    }
    with_open(&site, &token, 0).await;
    service.stop();
    host.assert_verified();

    let hold = |wallet: &AgentWallet| WalletHold {
        payment: WalletPaymentId(1),
        network: Network::Base,
        amount: Usdc::from_atomic(7),
        day: wallet.day_usage().0,
        key: None,
        approval: None,
        merchant: Some("shop.example".to_owned()),
    };
    let apply = |wallet: AgentWallet, event| {
        let owner = wallet.owner;
        AgentWallet::apply(Some(wallet), &owner, &event).unwrap()
    };
    let ends = |is_paid| agent_wallet::Event::HoldSettled(WalletPaymentId(1), is_paid);
    let more = |wallet: AgentWallet| {
        let held = agent_wallet::Event::Held(hold(&wallet));
        apply(apply(wallet, held), ends(true))
    };
    let owner: Wallet = agent.address().parse().unwrap();
    let owner = owner.address();
    let copy = with_snapshot(&host, "more", more).await;
    assert_problem(&host, &copy, "agent_wallet.cap_mismatch", &owner);
    let at_another = |wallet: AgentWallet| {
        let held = agent_wallet::Event::Held(hold(&wallet));
        let mut wallet = apply(wallet, held);
        // What is released is not released at the merchant.
        wallet.holds.iter_mut().for_each(|hold| hold.merchant = None);
        apply(wallet, ends(false))
    };
    let copy = with_snapshot(&host, "at-another", at_another).await;
    assert_problem(&host, &copy, "agent_wallet.merchant_cap_mismatch", &owner);
    let one_more = |account: Account| {
        let (day, wallet) = (account.cap_usage().0, account.wallet);
        let reserved = account::Event::CapReserved(CapReservation {
            day,
            cap_group: ProductLine::UsaCard.cap_group(),
            cents: Cents::new(1),
        });
        Account::apply(Some(account), &wallet, &reserved).unwrap()
    };
    let copy = with_snapshot(&host, "one-more", one_more).await;
    assert_problem(&host, &copy, "account.cap_mismatch", &owner);
    let gone = |key: &RowKey, _: &Row| Some(vec![Write::Delete { key: key.clone() }]);
    let (copy, rows) = rewritten(&host, "no-usage", &[table::KEY_USAGE], gone).await;
    assert_eq!(rows, 1);
    let key = made["key"]["apiKeyId"].as_str().unwrap();
    assert_problem(&host, &copy, "api_key.usage_missing", key);
}

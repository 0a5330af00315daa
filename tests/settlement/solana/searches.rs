//! Cost and results of searches for payments that others submit.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use purser_actors::port::{Authorization, ChainStatus, Settlement as _};
use purser_chains::solana::address::{USDC_MAINNET, base58};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::Version;
use purser_chains::solana::node::Blockhash;
use purser_chains::solana::token::{TransferChecked, memo};
use purser_chains::solana::transaction::{co_sign, sign};

use crate::solana::harness::{Harness, until};

/// More than a payment may have read whatever others do.
const EXTERNAL_TRANSFERS: usize = 60;

/// Sends transfers from another wallet to the client and returns their ids once they are on chain.
async fn external_transfers(harness: &Harness) -> Vec<String> {
    let stranger = harness.another(40);
    harness.chain.set_lamports(&stranger.address(), 1_000_000_000).await;
    harness.chain.set_usdc(&stranger.address(), 1_000, false).await;
    let to = harness.client().address();
    let (node, blockhash) = (harness.node(), harness.blockhash().await.hash);
    let mut ids = Vec::new();
    for number in 0..EXTERNAL_TRANSFERS {
        let transfer = TransferChecked::between(&stranger.address(), &to, &USDC_MAINNET, 1).unwrap();
        let draft = Draft {
            fee_payer: stranger.address(),
            blockhash,
            instructions: vec![transfer.instruction(), memo(&format!("nothing {number}"))],
            version: Version::V0,
        };
        let signed = sign(&draft, &[&stranger]).unwrap();
        node.send_each(&signed.bytes).await;
        ids.push(base58(&signed.id));
    }
    until("all of them are on the chain", || async {
        (harness.usdc(&stranger.address()).await == Some(1_000 - EXTERNAL_TRANSFERS as u64)).then_some(())
    })
    .await;
    ids
}

/// A blockhash that the port has read, and whose whole window of validity the node's history covers. A young node has
/// no first slots: the absence of a payment signed then is never proven, nor that of one whose blockhash was not read.
async fn provable_blockhash(harness: &Harness) -> Blockhash {
    let node = harness.node();
    until("the history covers a blockhash's window", || async {
        let (recent, _) = harness.port.recent_blockhash()?;
        let available = node.first_available_on(0).await.ok()?;
        (recent.first_slot() >= available).then_some(recent)
    })
    .await
}

fn sent_by(payment: &Authorization, seller: &Keypair) -> (Vec<u8>, String) {
    let Authorization::Solana(transfer) = payment else {
        panic!()
    };
    let signed = co_sign(&transfer.transaction, seller).unwrap();
    (signed.bytes, base58(&signed.id))
}

// Checks: strangers send many transactions to a wallet with three payments that are never settled; the port has not
// read the blockhash of one, which was signed before a restart. Each transaction is read once, not once per search,
// endpoint and payment. After all payments are proven impossible nothing is read. A payment on chain among them is found.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_transactions_are_read_once() {
    let Some(harness) = Harness::open(140).await else {
        return;
    };
    let (client, seller) = (harness.client(), harness.another(50));
    harness.chain.set_lamports(&seller.address(), 1_000_000_000).await;
    let recent = provable_blockhash(&harness).await;
    let blockhash = recent.hash;
    let payment = |text: &str| {
        let transfers = vec![harness.transfer(&client, 5)];
        harness.signed_at(blockhash, &client, &seller.address(), (5, 50_000), transfers, text)
    };
    let mut unread = harness.signed_at(
        [77; 32],
        &client,
        &seller.address(),
        (5, 50_000),
        vec![harness.transfer(&client, 5)],
        "signed before a restart",
    );
    if let Authorization::Solana(transfer) = &mut unread {
        transfer.not_before_slot = recent.first_slot();
    }
    let never = [payment("never sent"), payment("nor this one"), unread];
    let settled = payment("settled");
    let calls: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let counted = calls.clone();
    harness.faults.falsify("", move |request, _| {
        if request["method"] == "getTransaction" {
            let id = request["params"][0].as_str().unwrap().to_owned();
            *counted.lock().entry(id).or_default() += 1;
        }
    });
    let (bytes, transaction) = sent_by(&settled, &seller);
    harness.node().send_each(&bytes).await;
    let strangers = external_transfers(&harness).await;
    until("the settled one is found", || async {
        let found = harness.port.lookup(&settled, None).await.ok()?;
        matches!(found, ChainStatus::Confirmed { transaction: of, .. } if of == transaction).then_some(())
    })
    .await;
    for (number, payment) in never.iter().enumerate() {
        until("it is proven impossible", || async {
            let found = harness.port.lookup(payment, None).await.ok()?;
            assert!(!matches!(found, ChainStatus::Confirmed { .. }), "{number}: {found:?}");
            (found == ChainStatus::Impossible).then_some(())
        })
        .await;
    }
    let reads = calls.lock().clone();
    for id in &strangers {
        assert_eq!(reads.get(id), Some(&1), "{id}: {reads:?}");
    }
    calls.lock().clear();
    for payment in &never {
        assert_eq!(
            harness.port.lookup(payment, None).await.unwrap(),
            ChainStatus::Impossible
        );
    }
    assert!(calls.lock().is_empty());
}

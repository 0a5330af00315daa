//! What the follower lists.

use purser::settlement::chain::TransferList;
use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{ChainMovement, Settlement as _, Timestamp, TreasuryList as _};
use purser_chains::solana::address::{USDC_MAINNET, base58};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::message::Version;
use purser_chains::solana::token::{TransferChecked, memo};
use purser_chains::solana::transaction::sign;

use crate::solana::harness::{Harness, until, wallet};

// Checks: foreign transfers are listed like any other, two in one transaction with distinct references. A restart
// neither loses nor repeats one.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_transfers_are_listed_once_each() {
    let Some(mut harness) = Harness::open(60).await else {
        return;
    };
    let stranger = harness.another(40);
    harness.chain.set_lamports(&stranger.address(), 1_000_000_000).await;
    harness.chain.set_usdc(&stranger.address(), 100, false).await;
    let draft = Draft {
        fee_payer: stranger.address(),
        blockhash: harness.blockhash().await.hash,
        instructions: vec![
            harness.transfer(&stranger, 3),
            memo("two at once"),
            harness.transfer(&stranger, 4),
        ],
        version: Version::Legacy,
    };
    let signed = sign(&draft, &[&stranger]).unwrap();
    harness.node().send_each(&signed.bytes).await;
    let two = harness.movements(2).await;
    harness.kill().await;
    let payment = harness.payment(5, "ours").await;
    let ours = harness.pay(&payment).await;
    harness.until_final(&payment, &ours).await;
    let all = harness.movements(3).await;
    assert_eq!(all[..2], two);
    let shown: Vec<_> = all
        .iter()
        .map(|m| (m.incoming, m.counterparty, m.amount.atomic()))
        .collect();
    let (their, our) = (wallet(&stranger), wallet(&harness.client()));
    assert_eq!(shown, [(true, their, 3), (true, their, 4), (true, our, 5)]);
    assert!(two[0].transaction == two[1].transaction && two[0].key() != two[1].key());
    assert_eq!(two[0].transaction, base58(&signed.id));
    let in_transaction = async |id: &str| harness.port.in_transaction(Network::Solana, id).await.unwrap();
    assert_eq!(in_transaction(&two[0].transaction).await, two);
    assert_eq!(in_transaction(&ours).await, all[2..]);
    assert_eq!(in_transaction("no transaction").await, []);
    // Without our fee payer it can be no payment: each transfer has a mark of its own.
    let marks: Vec<_> = all.iter().map(|moved| moved.fingerprint).collect();
    let plain = |moved: &ChainMovement| ChainMovement::plain_fingerprint(&moved.transaction, moved.index);
    assert_eq!(marks, [plain(&two[0]), plain(&two[1]), payment.fingerprint()]);
    assert_eq!(harness.port.status().unreadable, 0);
}

// Checks: outgoing transfers are read from the chain for any wallet and from rows for the treasury. Incoming transfers
// are not listed.
#[tokio::test(flavor = "multi_thread")]
async fn outgoing_transfers_of_a_wallet_are_listed() {
    let Some(harness) = Harness::open(61).await else { return };
    let payment = harness.payment(6, "out of the client").await;
    let transaction = harness.pay(&payment).await;
    harness.until_final(&payment, &transaction).await;
    let client = wallet(&harness.client());
    let sent = until("it is listed", || async {
        let sent = harness.port.sent_by(&client, Timestamp(0)).await.ok()?;
        (!sent.is_empty()).then_some(sent)
    })
    .await;
    let [outgoing_transfer] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (&outgoing_transfer.transaction, outgoing_transfer.fingerprint),
        (&transaction, payment.fingerprint())
    );
    assert_eq!(
        (outgoing_transfer.to, outgoing_transfer.amount),
        (wallet(&harness.treasury()), Usdc::from_atomic(6))
    );
    harness.movements(1).await;
    let treasury = wallet(&harness.treasury());
    assert_eq!(harness.port.sent_by(&treasury, Timestamp(0)).await.unwrap(), []);
    assert_eq!(
        harness.port.sent_by(&Wallet::Evm([0; 20]), Timestamp(0)).await.unwrap(),
        []
    );
}

// Checks: a transfer signed with the treasury key outside the service appears in the list of outgoing transfers.
#[tokio::test(flavor = "multi_thread")]
async fn transfer_outside_the_service_is_listed() {
    let Some(harness) = Harness::open(62).await else { return };
    let treasury = harness.treasury();
    harness.chain.set_lamports(&treasury.address(), 1_000_000_000).await;
    harness.chain.set_usdc(&treasury.address(), 100, false).await;
    let client = harness.client().address();
    let transfer = TransferChecked::between(&treasury.address(), &client, &USDC_MAINNET, 8).unwrap();
    let draft = Draft {
        fee_payer: treasury.address(),
        blockhash: harness.blockhash().await.hash,
        instructions: vec![transfer.instruction()],
        version: Version::V0,
    };
    let signed = sign(&draft, &[&treasury]).unwrap();
    harness.node().send_each(&signed.bytes).await;
    harness.movements(1).await;
    let left = harness
        .port
        .outgoing_transfers(Timestamp(0), Timestamp(u64::MAX))
        .await
        .unwrap();
    let [outgoing_transfer] = left.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!(outgoing_transfer.transaction, base58(&signed.id));
    assert_eq!(
        (outgoing_transfer.to, outgoing_transfer.amount),
        (Wallet::Solana(client), Usdc::from_atomic(8))
    );
    let before = Timestamp(outgoing_transfer.at.0 - 1);
    assert_eq!(harness.port.outgoing_transfers(Timestamp(0), before).await.unwrap(), []);
    let from = Timestamp(outgoing_transfer.at.0);
    assert_eq!(harness.port.outgoing_transfers(from, from).await.unwrap().len(), 1);
    assert_eq!(
        harness
            .port
            .outgoing_transfers(Timestamp(from.0 + 1), Timestamp(u64::MAX))
            .await
            .unwrap(),
        []
    );
}

// Checks: outgoing transfers of an agent wallet are listed for `purser verify` with their positions, once each and
// before they are final. Incoming ones, those to the treasury and those of other wallets are not. A restart continues
// from the cursor.
#[tokio::test(flavor = "multi_thread")]
async fn outgoing_transfers_of_agent_wallets_are_listed_for_verify() {
    let Some(mut harness) = Harness::open(63).await else {
        return;
    };
    let (managed, other) = (harness.another(41), harness.another(42));
    for wallet in [&managed, &other] {
        harness.chain.set_lamports(&wallet.address(), 1_000_000_000).await;
        harness.chain.set_usdc(&wallet.address(), 100, false).await;
    }
    harness.port.track_wallet(managed.address());
    let client = harness.client().address();
    let send = async |harness: &Harness, from: &purser_chains::solana::keypair::Keypair, to, amount| {
        let transfer = TransferChecked::between(&from.address(), &to, &USDC_MAINNET, amount).unwrap();
        let draft = Draft {
            fee_payer: from.address(),
            blockhash: harness.blockhash().await.hash,
            instructions: vec![transfer.instruction()],
            version: Version::V0,
        };
        let signed = sign(&draft, &[from]).unwrap();
        harness.node().send_each(&signed.bytes).await;
        base58(&signed.id)
    };
    // Pages of one, as a reader with a cursor gets them.
    let all = async |harness: &Harness| {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = TransferList::transfers_after(&*harness.port, Network::Solana, after, 1)
                .await
                .unwrap();
            let Some(last) = page.last() else { return all };
            assert!(last.position > after);
            after = last.position;
            all.extend(page);
        }
    };
    let out = async |harness: &Harness, many: usize| {
        until("they are listed", || async {
            let mut listed = all(harness).await;
            listed.retain(|one| one.from == wallet(&managed) && one.to != wallet(&harness.treasury()));
            (listed.len() >= many).then_some(listed)
        })
        .await
    };
    let first = send(&harness, &managed, client, 3).await;
    send(&harness, &other, managed.address(), 5).await;
    let one = out(&harness, 1).await;
    let to_treasury = send(&harness, &managed, harness.treasury().address(), 7).await;
    harness.movements(1).await;
    harness.kill().await;
    harness.port.track_wallet(managed.address());
    let second = send(&harness, &managed, client, 4).await;
    let two = out(&harness, 2).await;
    let shown: Vec<_> = two
        .iter()
        .map(|one| (one.transaction.as_str(), one.index, one.to, one.amount.atomic()))
        .collect();
    let to = Wallet::Solana(client);
    assert_eq!(shown, [(first.as_str(), 0, to, 3), (second.as_str(), 0, to, 4)]);
    assert_eq!(one[0].transaction, first);
    let everything = all(&harness).await;
    let names: std::collections::BTreeSet<_> = everything.iter().map(|one| &one.transaction).collect();
    assert_eq!(names.len(), everything.len(), "{everything:?}");
    assert!(everything.iter().any(|one| one.transaction == to_treasury));
    assert!(everything.iter().all(|one| one.from != wallet(&other) && !one.reorged));
}

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

use crate::harness::{Harness, until, wallet};

// Aim: transfers of strangers are listed like any others, two in one transaction each by its own name; a restart neither loses
// nor repeats one.
#[tokio::test(flavor = "multi_thread")]
async fn transfers_of_strangers_are_listed_each_once() {
    let Some(mut house) = Harness::open(60).await else {
        return;
    };
    let stranger = house.another(40);
    house.chain.set_lamports(&stranger.address(), 1_000_000_000).await;
    house.chain.set_usdc(&stranger.address(), 100, false).await;
    let draft = Draft {
        fee_payer: stranger.address(),
        blockhash: house.blockhash().await.hash,
        instructions: vec![
            house.transfer(&stranger, 3),
            memo("two at once"),
            house.transfer(&stranger, 4),
        ],
        version: Version::Legacy,
    };
    let signed = sign(&draft, &[&stranger]).unwrap();
    house.node().send_each(&signed.bytes).await;
    let two = house.movements(2).await;
    house.kill().await;
    let payment = house.payment(5, "ours").await;
    let ours = house.pay(&payment).await;
    house.until_final(&payment, &ours).await;
    let all = house.movements(3).await;
    assert_eq!(all[..2], two);
    let shown: Vec<_> = all
        .iter()
        .map(|m| (m.incoming, m.counterparty, m.amount.atomic()))
        .collect();
    let (their, our) = (wallet(&stranger), wallet(&house.client()));
    assert_eq!(shown, [(true, their, 3), (true, their, 4), (true, our, 5)]);
    assert!(two[0].transaction == two[1].transaction && two[0].key() != two[1].key());
    assert_eq!(two[0].transaction, base58(&signed.id));
    let in_transaction = async |id: &str| house.port.in_transaction(Network::Solana, id).await.unwrap();
    assert_eq!(in_transaction(&two[0].transaction).await, two);
    assert_eq!(in_transaction(&ours).await, all[2..]);
    assert_eq!(in_transaction("no transaction").await, []);
    // Without our fee payer it can be no payment: each transfer has a mark of its own.
    let marks: Vec<_> = all.iter().map(|moved| moved.fingerprint).collect();
    let plain = |moved: &ChainMovement| ChainMovement::plain_fingerprint(&moved.transaction, moved.index);
    assert_eq!(marks, [plain(&two[0]), plain(&two[1]), payment.fingerprint()]);
    assert_eq!(house.port.status().unreadable, 0);
}

// Aim: what left a wallet is listed from the chain for any wallet, and from rows for the treasury; nothing that came in is.
#[tokio::test(flavor = "multi_thread")]
async fn what_left_a_wallet_is_listed() {
    let Some(house) = Harness::open(61).await else { return };
    let payment = house.payment(6, "out of the client").await;
    let transaction = house.pay(&payment).await;
    house.until_final(&payment, &transaction).await;
    let client = wallet(&house.client());
    let sent = until("it is listed", || async {
        let sent = house.port.sent_by(&client, Timestamp(0)).await.ok()?;
        (!sent.is_empty()).then_some(sent)
    })
    .await;
    let [departure] = sent.as_slice() else {
        panic!("{sent:?}")
    };
    assert_eq!(
        (&departure.transaction, departure.fingerprint),
        (&transaction, payment.fingerprint())
    );
    assert_eq!(
        (departure.to, departure.amount),
        (wallet(&house.treasury()), Usdc::from_atomic(6))
    );
    house.movements(1).await;
    let treasury = wallet(&house.treasury());
    assert_eq!(house.port.sent_by(&treasury, Timestamp(0)).await.unwrap(), []);
    assert_eq!(
        house.port.sent_by(&Wallet::Evm([0; 20]), Timestamp(0)).await.unwrap(),
        []
    );
}

// Aim: what somebody with the treasury's key sends past the service is listed as having left.
#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_past_the_service_is_listed() {
    let Some(house) = Harness::open(62).await else { return };
    let treasury = house.treasury();
    house.chain.set_lamports(&treasury.address(), 1_000_000_000).await;
    house.chain.set_usdc(&treasury.address(), 100, false).await;
    let client = house.client().address();
    let transfer = TransferChecked::between(&treasury.address(), &client, &USDC_MAINNET, 8).unwrap();
    let draft = Draft {
        fee_payer: treasury.address(),
        blockhash: house.blockhash().await.hash,
        instructions: vec![transfer.instruction()],
        version: Version::V0,
    };
    let signed = sign(&draft, &[&treasury]).unwrap();
    house.node().send_each(&signed.bytes).await;
    house.movements(1).await;
    let left = house
        .port
        .outgoing_transfers(Timestamp(0), Timestamp(u64::MAX))
        .await
        .unwrap();
    let [departure] = left.as_slice() else {
        panic!("{left:?}")
    };
    assert_eq!(departure.transaction, base58(&signed.id));
    assert_eq!(
        (departure.to, departure.amount),
        (Wallet::Solana(client), Usdc::from_atomic(8))
    );
    let before = Timestamp(departure.at.0 - 1);
    assert_eq!(house.port.outgoing_transfers(Timestamp(0), before).await.unwrap(), []);
    let from = Timestamp(departure.at.0);
    assert_eq!(house.port.outgoing_transfers(from, from).await.unwrap().len(), 1);
    assert_eq!(
        house
            .port
            .outgoing_transfers(Timestamp(from.0 + 1), Timestamp(u64::MAX))
            .await
            .unwrap(),
        []
    );
}

// Aim: what leaves a managed wallet is listed for `purser verify` with its positions, seen ones too, none of them twice; what comes
// in, and what goes to the treasury, is not; nor is what another wallet sends. A restart reads on where it was.
#[tokio::test(flavor = "multi_thread")]
async fn what_leaves_managed_wallets_is_listed_for_verify() {
    let Some(mut house) = Harness::open(63).await else {
        return;
    };
    let (managed, other) = (house.another(41), house.another(42));
    for wallet in [&managed, &other] {
        house.chain.set_lamports(&wallet.address(), 1_000_000_000).await;
        house.chain.set_usdc(&wallet.address(), 100, false).await;
    }
    house.port.track_wallet(managed.address());
    let client = house.client().address();
    let send = async |house: &Harness, from: &purser_chains::solana::keypair::Keypair, to, amount| {
        let transfer = TransferChecked::between(&from.address(), &to, &USDC_MAINNET, amount).unwrap();
        let draft = Draft {
            fee_payer: from.address(),
            blockhash: house.blockhash().await.hash,
            instructions: vec![transfer.instruction()],
            version: Version::V0,
        };
        let signed = sign(&draft, &[from]).unwrap();
        house.node().send_each(&signed.bytes).await;
        base58(&signed.id)
    };
    // Pages of one, as a reader with a cursor gets them.
    let all = async |house: &Harness| {
        let (mut all, mut after) = (Vec::new(), 0);
        loop {
            let page = TransferList::transfers_after(&*house.port, Network::Solana, after, 1)
                .await
                .unwrap();
            let Some(last) = page.last() else { return all };
            assert!(last.position > after);
            after = last.position;
            all.extend(page);
        }
    };
    let out = async |house: &Harness, many: usize| {
        until("they are listed", || async {
            let mut listed = all(house).await;
            listed.retain(|one| one.from == wallet(&managed) && one.to != wallet(&house.treasury()));
            (listed.len() >= many).then_some(listed)
        })
        .await
    };
    let first = send(&house, &managed, client, 3).await;
    send(&house, &other, managed.address(), 5).await;
    let one = out(&house, 1).await;
    let to_treasury = send(&house, &managed, house.treasury().address(), 7).await;
    house.movements(1).await;
    house.kill().await;
    house.port.track_wallet(managed.address());
    let second = send(&house, &managed, client, 4).await;
    let two = out(&house, 2).await;
    let shown: Vec<_> = two
        .iter()
        .map(|one| (one.transaction.as_str(), one.index, one.to, one.amount.atomic()))
        .collect();
    let to = Wallet::Solana(client);
    assert_eq!(shown, [(first.as_str(), 0, to, 3), (second.as_str(), 0, to, 4)]);
    assert_eq!(one[0].transaction, first);
    let everything = all(&house).await;
    let names: std::collections::BTreeSet<_> = everything.iter().map(|one| &one.transaction).collect();
    assert_eq!(names.len(), everything.len(), "{everything:?}");
    assert!(everything.iter().any(|one| one.transaction == to_treasury));
    assert!(everything.iter().all(|one| one.from != wallet(&other) && !one.reorged));
}

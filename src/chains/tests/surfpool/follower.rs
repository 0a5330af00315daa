//! The follower of the treasury's token account.

use purser_chains::solana::follow::{Change, Cursor, Follower, Row, Step};

use super::*;

async fn scan(node: &Node, follower: &mut Follower, account: &Pubkey) -> Vec<Change> {
    let mut request = follower.start(node.history_on(0).await.unwrap()).unwrap();
    loop {
        // Small pages, so that a walk needs several.
        request.limit = 2;
        let page = node.signatures_on(0, account, request).await.unwrap();
        match follower.page(&page).unwrap() {
            Step::More(next) => request = next,
            Step::Done(changes) => return changes,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_follower_names_each_transfer_once() {
    let Some(chain) = Chain::ready() else { return };
    let (node, cast) = (chain.node(), TestKeys::fund_on(&chain, 15).await);
    let account = cast.treasury_account();
    let from_slot = node.history_on(0).await.unwrap().finalized_slot;
    // Two transfers in one transaction, then single ones, then one that fails on chain.
    let payments = [
        vec![cast.transfer(1), cast.transfer(2)],
        vec![cast.transfer(4)],
        vec![cast.transfer(8)],
        vec![cast.transfer(1_000_000_000)],
        vec![cast.transfer(16)],
    ];
    let mut expected = Vec::new();
    for (number, transfers) in payments.into_iter().enumerate() {
        let hash = blockhash(&node).await;
        let wire = cast.payment(&hash, transfers, &format!("number {number}"));
        let signed = co_sign(&wire, &cast.fee).unwrap();
        let mut life = lifecycle(&node, &signed, &hash);
        let on_chain = |stage: &Stage| match stage {
            Stage::Succeeded { level, .. } | Stage::Failed { level, .. } => *level >= Commitment::Confirmed,
            _ => false,
        };
        drive(&node, &mut life, &signed.bytes, on_chain).await;
        expected.push(signed.id);
    }
    let mut follower = Follower::new(from_slot);
    let (mut rows, mut finals): (Vec<Row>, Vec<Signature>) = (Vec::new(), Vec::new());
    let began = std::time::Instant::now();
    while finals.len() < expected.len() {
        assert!(began.elapsed().as_secs() < 60, "{finals:?}");
        for change in scan(&node, &mut follower, &account).await {
            match change {
                Change::New(row) => rows.push(row),
                Change::Final(row) => finals.push(row.id),
                other => panic!("{other:?}"),
            }
        }
        // A restart in between neither loses nor repeats a row.
        let cursor: Cursor = follower.cursor();
        follower = Follower::resume(from_slot, cursor);
        tokio::time::sleep(std::time::Duration::from_millis(2 * SLOT_MS)).await;
    }
    assert_eq!(
        rows.iter().map(|row| row.id).collect::<Vec<_>>(),
        expected,
        "oldest first"
    );
    assert_eq!(finals, expected);
    assert_eq!(rows.iter().filter(|row| row.failed).count(), 1);
    let (mut names, mut sum) = (Vec::new(), 0);
    for row in &rows {
        for movement in transaction(&node, &row.id, &account).await.movements {
            names.push(movement.reference.instruction.to_string());
            sum += movement.amount;
        }
    }
    assert_eq!(names, ["2", "3", "2", "2", "2"]);
    assert_eq!((sum, usdc(&node, &cast.treasury.address()).await), (31, Some(31)));
}

//! Fee payers on Solana: a payment goes to the facilitator that owns its fee payer.

use purser_actors::port::{ErrorKind, SolanaTransfer};

use super::*;

/// A payment with this fee payer.
fn with_fee_payer(n: u8, fee_payer: [u8; 32]) -> Authorization {
    Authorization::Solana(SolanaTransfer {
        transaction: fee_payer.to_vec(),
        message_hash: [n; 32],
        payer: [n; 32],
        value: Usdc::from_atomic(1),
        blockhash: [0; 32],
        not_before_slot: 0,
    })
}

fn is_settled(submitted: &SubmitResult) -> bool {
    matches!(submitted, SubmitResult::Settled { .. })
}

// Checks: the challenge names the first facilitator's fee payer. A fee payer offered earlier is still accepted by its
// owner, also in the next process. One that was never offered has no owner.
#[tokio::test]
async fn a_fee_payer_that_was_offered_is_accepted_by_its_owner() {
    let world = Harness::with_chain(TestChain::solana(), &[Mode::Succeeds, Mode::Succeeds]).await;
    world.offers(0, [1; 32]);
    world.offers(1, [2; 32]);
    let port = world.open(&[0, 1]).await;
    assert_eq!(port.list.fee_payer(), Some([1; 32]));
    world.offers(0, [3; 32]);
    assert!(port.list.refresh().await);
    assert_eq!(port.list.fee_payer(), Some([3; 32]));
    let mut accepted = port.list.fee_payers().to_vec();
    accepted.sort_unstable();
    assert_eq!(accepted, [[1; 32], [2; 32], [3; 32]]);
    for (n, key, settles) in [(1, 2, [0, 1]), (2, 1, [1, 1]), (3, 3, [2, 1])] {
        assert!(is_settled(&submit(&port, &with_fee_payer(n, [key; 32])).await));
        assert_eq!(world.settles(), settles);
    }
    let error = port.prepare(&with_fee_payer(4, [4; 32])).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Permanent);

    let next = world.open(&[1, 0]).await;
    assert_eq!(next.list.fee_payer(), Some([2; 32]), "the order of its settings");
    assert!(is_settled(&submit(&next, &with_fee_payer(5, [1; 32])).await));
    assert_eq!(world.settles(), [3, 1]);
}

// Checks: a start without a response of any facilitator still knows and offers the earlier fee payers.
#[tokio::test]
async fn without_an_answer_what_was_offered_last_is_offered_again() {
    let mut world = Harness::with_chain(TestChain::solana(), &[Mode::Succeeds]).await;
    world.offers(0, [1; 32]);
    let settings = vec![settings(&world.servers[0])];
    drop(world.open(&[0]).await);
    world.servers[0].stop().await;
    let port = world.open_with(settings).await;
    assert!(!port.list.refresh().await);
    assert_eq!(port.list.fee_payer(), Some([1; 32]));
    assert_eq!(&*port.list.fee_payers(), [[1; 32]]);
}

// Checks: a fee payer belongs to the facilitator that offered it first.
#[tokio::test]
async fn a_fee_payer_has_one_owner() {
    let world = Harness::with_chain(TestChain::solana(), &[Mode::Succeeds, Mode::Succeeds]).await;
    world.offers(0, [1; 32]);
    world.offers(1, [2; 32]);
    let port = world.open(&[0, 1]).await;
    world.offers(1, [1; 32]);
    port.list.refresh().await;
    assert!(is_settled(&submit(&port, &with_fee_payer(1, [1; 32])).await));
    assert_eq!(world.settles(), [1, 0]);
}

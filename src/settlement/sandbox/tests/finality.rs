//! Seen, final and gone.

use super::solana::{authorization, honest};
use super::*;

async fn found(house: &House, payment: &Authorization) -> Option<Finality> {
    match house.chains.lookup(payment, None).await.unwrap() {
        ChainStatus::Landed { finality, .. } => Some(finality),
        _ => None,
    }
}

async fn stands(house: &House, payment: &Authorization, transaction: &str) -> ChainStanding {
    house.chains.standing(payment, None, transaction).await.unwrap()
}

fn told(outcome: Result<SubmitResult, PortError>) -> (String, Finality) {
    match outcome {
        Ok(SubmitResult::Settled { transaction, finality }) => (transaction, finality),
        other => panic!("not settled: {other:?}"),
    }
}

fn one_of_each(house: &House) -> [Authorization; 2] {
    [
        payment(5_000_000, 1),
        authorization(&honest(&house.chains, 5_000_000, "one")),
    ]
}

// Aim: unless it is told otherwise, a chain's first word is its last; of what it does not have it says so.
#[tokio::test]
async fn a_transfer_is_final_at_once() {
    let house = House::new();
    for payment in one_of_each(&house) {
        assert_eq!(stands(&house, &payment, "0x1").await, ChainStanding::Gone);
        let (transaction, finality) = told(house.pay(&payment).await);
        assert_eq!(
            (finality, found(&house, &payment).await),
            (Finality::Final, Some(Finality::Final))
        );
        assert_eq!(stands(&house, &payment, &transaction).await, ChainStanding::Final);
        assert_eq!(
            stands(&house, &payment, "0x1").await,
            ChainStanding::Gone,
            "by another transaction"
        );
    }
}

// Aim: for as long as was set a transfer is only seen, whoever asks and however often it is sent; a restart changes nothing.
#[tokio::test]
async fn a_transfer_is_seen_before_it_is_final() {
    let house = House::new();
    let wait = Duration::from_millis(1_000);
    house.chains.finalize_after(wait);
    for payment in one_of_each(&house) {
        let (transaction, finality) = told(house.pay(&payment).await);
        assert_eq!(finality, Finality::Seen);
        house.clock.pass(999);
        let after = house.killed();
        after.chains.finalize_after(wait);
        for house in [&house, &after] {
            assert_eq!(told(house.pay(&payment).await), (transaction.clone(), Finality::Seen));
            assert_eq!(found(house, &payment).await, Some(Finality::Seen));
            assert_eq!(stands(house, &payment, &transaction).await, ChainStanding::Seen);
        }
        house.clock.pass(1);
        for house in [&house, &after] {
            assert_eq!(told(house.pay(&payment).await), (transaction.clone(), Finality::Final));
            assert_eq!(found(house, &payment).await, Some(Finality::Final));
            assert_eq!(stands(house, &payment, &transaction).await, ChainStanding::Final);
        }
    }
}

// case_8: what a reorganisation is going to remove is never called final, and afterwards it is gone by that transaction.
#[tokio::test]
async fn case_08_what_will_be_dropped_is_seen_and_then_gone() {
    let house = House::new();
    house.fault(ChainFault::Reorg { after_ms: 1_000 });
    let payment = payment(5_000_000, 1);
    let (first, finality) = told(house.pay(&payment).await);
    assert_eq!(finality, Finality::Seen);
    house.clock.pass(999);
    assert_eq!(found(&house, &payment).await, Some(Finality::Seen));
    assert_eq!(stands(&house, &payment, &first).await, ChainStanding::Seen);
    house.clock.pass(1);
    assert_eq!(found(&house, &payment).await, None);
    assert_eq!(stands(&house, &payment, &first).await, ChainStanding::Gone);
    let (second, finality) = told(house.pay(&payment).await);
    assert_eq!(finality, Finality::Final, "it is hit once");
    assert_eq!(stands(&house, &payment, &first).await, ChainStanding::Gone);
    assert_eq!(stands(&house, &payment, &second).await, ChainStanding::Final);
}

//! Several payments of one wallet at once.

use futures_util::future::join_all;
use purser_actors::port::{Authorization, Preparation, Settlement as _, SubmitResult};
use purser_chains::solana::keypair::Keypair;

use crate::harness::{Harness, until};

const INSUFFICIENT_FUNDS: &str = "insufficient_funds";

impl Harness {
    async fn wallet_of(&self, role: u8, holds: u64) -> Keypair {
        let wallet = self.another(role);
        self.chain.set_usdc(&wallet.address(), holds, false).await;
        wallet
    }

    async fn payments_of(&self, payer: &Keypair, amount: u64, count: usize) -> Vec<Authorization> {
        let fee = self.fee_payer().address();
        let signed = (0..count).map(|number| async move {
            let text = format!("payment {number}");
            self.payment_by(payer, &fee, amount, &text).await
        });
        join_all(signed).await
    }

    /// Why each of them is declined before its claim, all asked at once.
    async fn checked(&self, payments: &[Authorization]) -> Vec<Option<String>> {
        let asked = payments.iter().map(|payment| self.port.precheck(payment));
        let answers = join_all(asked).await;
        let reason =
            |decline: Option<_>| decline.map(|decline: purser_actors::port::Decline| decline.reason.to_string());
        answers.into_iter().map(reason).collect()
    }

    async fn prepared(&self, payment: &Authorization) -> Option<String> {
        match self.port.prepare(payment).await.unwrap() {
            Preparation::Ready(_) => None,
            Preparation::Declined(decline) => Some(decline.reason.to_string()),
        }
    }
}

// Checks: a wallet with the money of one payment presents eight at once: one is taken, the others are declined before their claims, and
// when they are prepared all the same; after a restart too. One fee is paid. Once it has money again, another one is taken.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_a_wallet_with_one_payments_money_has_one_taken() {
    let Some(mut house) = Harness::open(90).await else {
        return;
    };
    let before = house.lamports(&house.fee_payer().address()).await;
    let payer = house.wallet_of(170, 5).await;
    let payments = house.payments_of(&payer, 5, 8).await;
    let answers = house.checked(&payments).await;
    let taken: Vec<usize> = (0..payments.len()).filter(|n| answers[*n].is_none()).collect();
    let &[taken] = taken.as_slice() else {
        panic!("{answers:?}")
    };
    assert!(
        answers.iter().flatten().all(|reason| reason == INSUFFICIENT_FUNDS),
        "{answers:?}"
    );
    let prepared = house.ready(&payments[taken]).await;
    let other = (taken + 1) % payments.len();
    assert_eq!(
        house.prepared(&payments[other]).await.as_deref(),
        Some(INSUFFICIENT_FUNDS)
    );
    house.kill().await;
    let again = house.checked(&payments).await;
    for (number, reason) in again.iter().enumerate() {
        let expected = (number != taken).then_some(INSUFFICIENT_FUNDS);
        assert_eq!(reason.as_deref(), expected, "{number}: its row has what it takes");
    }
    let submitted = house.port.submit(&payments[taken], &prepared).await.unwrap();
    assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
    house.until_final(&payments[taken], &prepared.transaction).await;
    assert_eq!(
        house.checked(&payments[other..=other]).await[0].as_deref(),
        Some(INSUFFICIENT_FUNDS)
    );
    house.chain.set_usdc(&payer.address(), 5, false).await;
    let fresh = house.payments_of(&payer, 5, 1).await.remove(0);
    // The first one counts until a status query has told that it landed.
    until("there is room again", || async {
        house.prepared(&fresh).await.is_none().then_some(())
    })
    .await;
    let transaction = house.pay(&fresh).await;
    house.until_final(&fresh, &transaction).await;
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(10));
    assert_eq!(house.lamports(&house.fee_payer().address()).await, before - 2 * 13_000);
    assert_eq!(house.port.status().fee_payers[0].lost, 0);
}

// Checks: payments that are prepared at once without a check before are held against the balance too.
#[tokio::test(flavor = "multi_thread")]
async fn payments_prepared_at_once_take_no_more_than_the_wallet_has() {
    let Some(house) = Harness::open(91).await else { return };
    let payer = house.wallet_of(171, 14).await;
    let payments = house.payments_of(&payer, 5, 6).await;
    let prepared = join_all(payments.iter().map(|payment| house.prepared(payment))).await;
    let declined: Vec<&String> = prepared.iter().flatten().collect();
    assert!(
        declined.len() == 4 && declined.iter().all(|reason| *reason == INSUFFICIENT_FUNDS),
        "{prepared:?}"
    );
}

// Checks: two payments that fit both go, whether they are presented together or one behind the other; a third that does not fit is
// declined while they are under way.
#[tokio::test(flavor = "multi_thread")]
async fn payments_that_fit_together_all_go() {
    let Some(house) = Harness::open(92).await else { return };
    let payer = house.wallet_of(172, 20).await;
    let payments = house.payments_of(&payer, 5, 5).await;
    assert_eq!(house.checked(&payments[..2]).await, [None, None]);
    let both = join_all(payments[..2].iter().map(|payment| house.pay(payment))).await;
    // The wallet has exactly the rest, and what went is on the chain.
    assert_eq!(house.checked(&payments[2..3]).await, [None]);
    let third = house.pay(&payments[2]).await;
    let fourth = house.ready(&payments[3]).await;
    assert_eq!(house.prepared(&payments[4]).await.as_deref(), Some(INSUFFICIENT_FUNDS));
    house.port.submit(&payments[3], &fourth).await.unwrap();
    let transactions = [both, vec![third, fourth.transaction]].concat();
    for (payment, transaction) in payments.iter().zip(&transactions) {
        house.until_final(payment, transaction).await;
    }
    assert_eq!(house.usdc(&house.treasury().address()).await, Some(20));
    until("nothing is under way", || async {
        (house.port.status().in_flight == 0).then_some(())
    })
    .await;
    assert_eq!(house.port.status().fee_payers[0].lost, 0);
}

//! Several payments of one wallet at once.

use futures_util::future::join_all;
use purser_actors::port::{Authorization, Preparation, Settlement as _, SubmitResult};
use purser_chains::solana::keypair::Keypair;

use crate::solana::harness::{Harness, until};

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

// Checks: a wallet with money for one payment presents eight at once. One is accepted, and the others are declined
// before their claims and when prepared, after a restart too. One fee is paid. With new money another is accepted.
#[tokio::test(flavor = "multi_thread")]
async fn case_88_only_one_payment_is_accepted_when_funds_suffice_for_one() {
    let Some(mut harness) = Harness::open(90).await else {
        return;
    };
    let before = harness.lamports(&harness.fee_payer().address()).await;
    let payer = harness.wallet_of(170, 5).await;
    let payments = harness.payments_of(&payer, 5, 8).await;
    let answers = harness.checked(&payments).await;
    let taken: Vec<usize> = (0..payments.len()).filter(|n| answers[*n].is_none()).collect();
    let &[taken] = taken.as_slice() else {
        panic!("{answers:?}")
    };
    assert!(
        answers.iter().flatten().all(|reason| reason == INSUFFICIENT_FUNDS),
        "{answers:?}"
    );
    let prepared = harness.ready(&payments[taken]).await;
    let other = (taken + 1) % payments.len();
    assert_eq!(
        harness.prepared(&payments[other]).await.as_deref(),
        Some(INSUFFICIENT_FUNDS)
    );
    harness.kill().await;
    let again = harness.checked(&payments).await;
    for (number, reason) in again.iter().enumerate() {
        let expected = (number != taken).then_some(INSUFFICIENT_FUNDS);
        assert_eq!(reason.as_deref(), expected, "{number}: its row has what it takes");
    }
    let submitted = harness.port.submit(&payments[taken], &prepared).await.unwrap();
    assert!(matches!(submitted, SubmitResult::Settled { .. }), "{submitted:?}");
    harness.until_final(&payments[taken], &prepared.transaction).await;
    assert_eq!(
        harness.checked(&payments[other..=other]).await[0].as_deref(),
        Some(INSUFFICIENT_FUNDS)
    );
    harness.chain.set_usdc(&payer.address(), 5, false).await;
    let fresh = harness.payments_of(&payer, 5, 1).await.remove(0);
    // The first payment counts until a status query reports it as settled.
    until("the wallet has enough again", || async {
        harness.prepared(&fresh).await.is_none().then_some(())
    })
    .await;
    let transaction = harness.pay(&fresh).await;
    harness.until_final(&fresh, &transaction).await;
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(10));
    assert_eq!(
        harness.lamports(&harness.fee_payer().address()).await,
        before - 2 * 13_000
    );
    assert_eq!(harness.port.status().fee_payers[0].lost, 0);
}

// Checks: payments that are prepared at once without a precheck are compared with the balance too.
#[tokio::test(flavor = "multi_thread")]
async fn payments_prepared_at_once_stay_within_the_balance() {
    let Some(harness) = Harness::open(91).await else { return };
    let payer = harness.wallet_of(171, 14).await;
    let payments = harness.payments_of(&payer, 5, 6).await;
    let prepared = join_all(payments.iter().map(|payment| harness.prepared(payment))).await;
    let declined: Vec<&String> = prepared.iter().flatten().collect();
    assert!(
        declined.len() == 4 && declined.iter().all(|reason| *reason == INSUFFICIENT_FUNDS),
        "{prepared:?}"
    );
}

// Checks: two payments that fit the balance both settle, in parallel and in sequence. A third that does not fit is
// declined while they are pending.
#[tokio::test(flavor = "multi_thread")]
async fn payments_within_the_balance_all_settle() {
    let Some(harness) = Harness::open(92).await else { return };
    let payer = harness.wallet_of(172, 20).await;
    let payments = harness.payments_of(&payer, 5, 5).await;
    assert_eq!(harness.checked(&payments[..2]).await, [None, None]);
    let both = join_all(payments[..2].iter().map(|payment| harness.pay(payment))).await;
    // The wallet has exactly the rest, and what went is on the chain.
    assert_eq!(harness.checked(&payments[2..3]).await, [None]);
    let third = harness.pay(&payments[2]).await;
    let fourth = harness.ready(&payments[3]).await;
    assert_eq!(
        harness.prepared(&payments[4]).await.as_deref(),
        Some(INSUFFICIENT_FUNDS)
    );
    harness.port.submit(&payments[3], &fourth).await.unwrap();
    let transactions = [both, vec![third, fourth.transaction]].concat();
    for (payment, transaction) in payments.iter().zip(&transactions) {
        harness.until_final(payment, transaction).await;
    }
    assert_eq!(harness.usdc(&harness.treasury().address()).await, Some(20));
    until("nothing is pending", || async {
        (harness.port.status().in_flight == 0).then_some(())
    })
    .await;
    assert_eq!(harness.port.status().fee_payers[0].lost, 0);
}

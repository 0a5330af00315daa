//! Returns after a payout's return window, and their effect on recipient totals.

use purser_actors::entity::late_return;
use purser_actors::entity::payout::Status;
use purser_actors::id::{LateReturnId, PayoutId};
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};

use super::payouts::{OWN_DESTINATION, balance, buy, register, to_app, to_bank, verified, wait_for_status};
use crate::support::eventually;
use crate::support::harness::{Harness, evm};
use crate::support::payouts::{failed, returned_status};
use crate::support::ports::IssuerBehavior;

async fn wait_for_window_close(world: &Harness, id: PayoutId) {
    world.clock.advance(60_001);
    let closed = async || {
        let payout = world.engine.payout(&id).await.unwrap().unwrap();
        matches!(payout.status, Status::Complete { returnable: false, .. })
    };
    eventually("the window is closed", closed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_32_return_after_the_window_is_one_late_return() {
    // Checks: the poller reports it twice, in different texts, with a power cut between. The payout stays complete, one
    // late return is credited once, less the rail's fee, and operators can list it.
    let world = Harness::new().await;
    register(&world, evm(1), OWN_DESTINATION).await;
    world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
    let id = buy(&world, &to_bank(1, OWN_DESTINATION)).await;
    wait_for_status(&world, id, "complete").await;
    wait_for_window_close(&world, id).await;
    world.payouts.add_event(id, 3, returned_status());
    let late = LateReturnId::for_payout(id);
    let credited = async |world: &Harness| {
        let late = world.engine.late_return(&late).await.unwrap();
        late.is_some_and(|late| late.status == late_return::Status::Credited)
    };
    eventually("it is credited", async || credited(&world).await).await;
    let world = world.crash().await;
    world.payouts.add_event(id, 3, returned_status());
    world.payouts.add_event(id, 4, failed());
    world.payouts.add_event(id, 5, returned_status());
    let heard = async || world.engine.payout(&id).await.unwrap().unwrap().last_sequence == 5;
    eventually("the last word is known", heard).await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(4_250_000));
    assert_eq!(
        world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Bank)],
        -250_000
    );
    assert_eq!(world.ledger_balances()[&LedgerAccount::FeeRevenue], -500_000);
    let counts = ["received", "credited"].map(|state| world.event_count(&format!("late_return.{state}")));
    assert_eq!((counts, world.event_count("payout.returned")), ([1, 1], 0));
    wait_for_status(&world, id, "complete").await;
    let listed = world.engine.late_returns(None, 10).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|(_, late)| (late.payout, late.owner)).collect();
    assert_eq!(listed, [(id, evm(1))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recipient_totals_follow_the_outcome_of_its_payments() {
    // Checks: a payment counts from its purchase until it fails, is returned or comes back late; a power cut changes
    // nothing.
    let world = Harness::new().await;
    verified(&world, evm(1)).await;
    world.payouts.set_behaviors(&[
        IssuerBehavior::Ready,
        IssuerBehavior::Declines,
        IssuerBehavior::Ready,
        IssuerBehavior::Ready,
    ]);
    let bought_one = async |n: u8| buy(&world, &to_app(n, "@ada")).await;
    let (kept, failed) = (bought_one(1).await, bought_one(2).await);
    let (returned, late) = (bought_one(3).await, bought_one(4).await);
    wait_for_status(&world, failed, "failed").await;
    for id in [kept, returned, late] {
        wait_for_status(&world, id, "complete").await;
    }
    world.wait_until_idle().await;
    let totals = async |world: &Harness| {
        let saved = world.engine.recipients_of(&evm(1), None, 10, |_| true).await.unwrap().0;
        saved[0].1.net_totals()
    };
    assert_eq!(totals(&world).await, (3, Cents::new(13_50)));
    world.payouts.add_event(returned, 3, returned_status());
    wait_for_status(&world, returned, "returned").await;
    world.wait_until_idle().await;
    assert_eq!(totals(&world).await, (2, Cents::new(9_00)));
    wait_for_window_close(&world, late).await;
    world.payouts.add_event(late, 3, returned_status());
    let there = async || {
        world
            .engine
            .late_return(&LateReturnId::for_payout(late))
            .await
            .unwrap()
            .is_some()
    };
    eventually("it came back", there).await;
    world.wait_until_idle().await;
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(totals(&world).await, (1, Cents::new(4_50)));
    wait_for_status(&world, kept, "complete").await;
}

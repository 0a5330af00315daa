//! Money that comes back after its payout's return window, and what that does to a recipient's totals.

use purser_actors::id::{LateReturnId, PayoutId};
use purser_actors::late_return;
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::payout::Status;

use super::payouts::{MINE, balance, becomes, bought, register, to_app, to_bank, verified};
use crate::support::eventually;
use crate::support::harness::{Harness, evm};
use crate::support::payouts::{came_back, failed};
use crate::support::ports::IssuerBehavior;

/// Waits for the end of a payout's return window.
async fn closes(world: &Harness, id: PayoutId) {
    world.clock.advance(60_001);
    let closed = async || {
        let payout = world.engine.payout(&id).await.unwrap().unwrap();
        matches!(payout.status, Status::Complete { returnable: false, .. })
    };
    eventually("the window is closed", closed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_32_what_comes_back_after_the_window_is_one_late_return() {
    // Aim: told by the listener, twice, in other words, and with a power cut between: the payout stays complete, one late return
    // is credited once, less the rail's fee, and an operator's list has it.
    let world = Harness::new().await;
    register(&world, evm(1), MINE).await;
    world.rails.moods(&[IssuerBehavior::Ready]);
    let id = bought(&world, &to_bank(1, MINE)).await;
    becomes(&world, id, "complete").await;
    closes(&world, id).await;
    world.rails.tell(id, 3, came_back());
    let late = LateReturnId::of(id);
    let credited = async |world: &Harness| {
        let late = world.engine.late_return(&late).await.unwrap();
        late.is_some_and(|late| late.status == late_return::Status::Credited)
    };
    eventually("it is credited", async || credited(&world).await).await;
    let world = world.crash().await;
    world.rails.tell(id, 3, came_back());
    world.rails.tell(id, 4, failed());
    world.rails.tell(id, 5, came_back());
    let heard = async || world.engine.payout(&id).await.unwrap().unwrap().seen == 5;
    eventually("the last word is known", heard).await;
    world.quiet().await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(4_250_000));
    assert_eq!(world.books()[&LedgerAccount::Provider(LedgerProvider::Bank)], -250_000);
    assert_eq!(world.books()[&LedgerAccount::FeeRevenue], -500_000);
    let told = ["received", "credited"].map(|state| world.announced(&format!("late_return.{state}")));
    assert_eq!((told, world.announced("payout.returned")), ([1, 1], 0));
    becomes(&world, id, "complete").await;
    let listed = world.engine.late_returns(None, 10).await.unwrap();
    let listed: Vec<_> = listed.iter().map(|(_, late)| (late.payout, late.owner)).collect();
    assert_eq!(listed, [(id, evm(1))]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_recipients_totals_follow_what_became_of_its_payments() {
    // Aim: a payment counts when it is bought, and no more when it fails, is returned, or comes back late; a power cut
    // changes nothing of it.
    let world = Harness::new().await;
    verified(&world, evm(1)).await;
    world.rails.moods(&[
        IssuerBehavior::Ready,
        IssuerBehavior::Declines,
        IssuerBehavior::Ready,
        IssuerBehavior::Ready,
    ]);
    let bought_one = async |n: u8| bought(&world, &to_app(n, "@ada")).await;
    let (kept, failed) = (bought_one(1).await, bought_one(2).await);
    let (returned, late) = (bought_one(3).await, bought_one(4).await);
    becomes(&world, failed, "failed").await;
    for id in [kept, returned, late] {
        becomes(&world, id, "complete").await;
    }
    world.quiet().await;
    let totals = async |world: &Harness| {
        let saved = world.engine.recipients_of(&evm(1), None, 10, |_| true).await.unwrap().0;
        saved[0].1.kept()
    };
    assert_eq!(totals(&world).await, (3, Cents::new(13_50)));
    world.rails.tell(returned, 3, came_back());
    becomes(&world, returned, "returned").await;
    world.quiet().await;
    assert_eq!(totals(&world).await, (2, Cents::new(9_00)));
    closes(&world, late).await;
    world.rails.tell(late, 3, came_back());
    let there = async || {
        world
            .engine
            .late_return(&LateReturnId::of(late))
            .await
            .unwrap()
            .is_some()
    };
    eventually("it came back", there).await;
    world.quiet().await;
    let world = world.crash().await;
    world.quiet().await;
    assert_eq!(totals(&world).await, (1, Cents::new(4_50)));
    becomes(&world, kept, "complete").await;
}

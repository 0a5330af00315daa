//! Transfers that no payment claims: watched from a durable place, counted each by its own, and asked after at providers first.

use std::sync::Arc;

use purser_actors::engine::{Lost, NotRuled, Rule};
use purser_actors::id::{DepositId, EffectId, Network, RequestId};
use purser_actors::incoming::{Incoming, Status};
use purser_actors::kernel::Entity as _;
use purser_actors::ledger::{Place, Provider};
use purser_actors::money::Usdc;
use purser_actors::operator::{Act, Role};
use purser_actors::port::{ErrorKind, Movement, Timestamp};
use purser_actors::product::Product;
use purser_actors::reconcile::Standing;

use super::payouts::{bought as paid_out, to_app, verified};
use crate::support::eventually;
use crate::support::lists::TestLists;
use crate::support::ports::Mood;
use crate::support::rails::complete;
use crate::support::world::{World, bought, card_for, evm};

/// From now on, for a minute.
fn lost(world: &World) -> Lost {
    use purser_actors::port::Clock as _;
    let since = world.clock.now();
    Lost {
        since,
        restored: since.plus_ms(30_000),
        until: since.plus_ms(60_000),
    }
}

fn came(transaction: &str, index: u32, atomic: u64, at: Timestamp) -> Movement {
    Movement {
        transaction: transaction.to_owned(),
        index,
        incoming: true,
        other: evm(7),
        amount: Usdc::from_atomic(atomic),
        at,
        mark: [90 + u8::try_from(index).unwrap(); 32],
    }
}

async fn incoming(world: &World, transaction: &str, index: u32) -> Option<Incoming> {
    let id = DepositId::of(Network::Base, transaction, index);
    world.engine.incoming_transfer(&id).await.unwrap()
}

async fn becomes(world: &World, transaction: &str, index: u32, status: &str) {
    eventually(status, async || {
        let found = incoming(world, transaction, index).await;
        found.is_some_and(|found| found.status() == status)
    })
    .await;
}

async fn balance(world: &World, n: u8) -> u64 {
    let account = world.engine.account(&evm(n)).await.unwrap();
    account.map_or(0, |account| account.balance.atomic())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_79_two_transfers_in_one_transaction_count_twice_and_each_once() {
    // Aim: both are credited to a sender without an account, over power cuts behind any batch; a third of before the backup, and a
    // fourth of after the quiet time, wait; an operator's word about each takes effect once. A rail that does not answer is asked
    // again before anybody is credited.
    for after in 0..24 {
        let lists = Arc::new(TestLists::default());
        let world = World::new().await;
        let window = lost(&world);
        lists.show(came("a", 0, 1_000_000, window.since));
        lists.show(came("a", 1, 2_000_000, window.since));
        lists.show(came("b", 2, 4_000_000, Timestamp(window.since.0 - 1)));
        lists.show(came("c", 3, 8_000_000, window.until.plus_ms(1)));
        world.rails.silences(&[ErrorKind::Temporary, ErrorKind::Unknown]);
        let world = world.having_lost(window).reconciling(lists.reconciling()).await;
        world.clock.advance(60_001);
        world.store.hold_after(after, after % 2 == 0);
        eventually("a cut", async || {
            world.store.is_starving() || world.store.committed() >= after
        })
        .await;
        let world = world.crash().await;
        for (transaction, index, status) in [
            ("a", 0, "credited"),
            ("a", 1, "credited"),
            ("b", 2, "waiting"),
            ("c", 3, "waiting"),
        ] {
            becomes(&world, transaction, index, status).await;
        }
        assert_eq!(balance(&world, 7).await, 3_000_000, "cut after {after}");
        let books: Vec<_> = world.books().into_iter().collect();
        let held = [
            (Place::Treasury(Network::Base), 3_000_000),
            (Place::Holder(evm(7)), -3_000_000),
        ];
        assert_eq!(books, held, "cut after {after}");
        if after == 23 {
            decided(&world).await;
        }
    }
}

/// An operator says what the other two are.
async fn decided(world: &World) {
    let act = Act {
        by: "ana".into(),
        role: Role::Operator,
        request: RequestId(7),
    };
    let rule = async |transaction: &str, index, rule| {
        let id = DepositId::of(Network::Base, transaction, index);
        world.engine.rule_incoming(id, rule, (&act, "seen".into())).await
    };
    let kept = rule("b", 2, Rule::OperatorFunds).await.unwrap();
    assert_eq!(kept.status, Status::OperatorFunds);
    assert_eq!(rule("b", 2, Rule::Return).await, Err(NotRuled::State("operator_funds")));
    assert_eq!(rule("c", 3, Rule::Credit(Some(evm(9)))).await, Err(NotRuled::NoAccount));
    for _ in 0..2 {
        rule("c", 3, Rule::Return).await.unwrap();
    }
    becomes(world, "c", 3, "returned").await;
    eventually("it has left", async || world.chain.transfers() == 1).await;
    eventually("the account knows", async || balance(world, 7).await == 3_000_000).await;
    assert_eq!(world.books()[&Place::OperatorFunds], -4_000_000);
    assert!(world.engine.incoming_transfers(None, 10).await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_80_what_the_issuer_shows_is_adopted_behind_any_cut() {
    // Aim: a card that was bought after the backup: whatever batch of the adoption is the last before a power cut, there is one
    // payment, one card under the number that it had, one at the issuer, and no credit.
    for after in 0..16 {
        let lists = Arc::new(TestLists::default());
        let world = World::new().await;
        let (backup, window) = (world.store.backup(), lost(&world));
        let request = card_for(evm(1), 1);
        let paid = world.pay_until_told(&request).await;
        let card = bought(&paid);
        world.quiet().await;
        assert_eq!(card.0, paid.payment.product(), "its name follows from the payment");
        lists.enter(card.0, Standing::Done, 500);
        let moved = Movement {
            transaction: "paid".into(),
            index: 0,
            incoming: true,
            other: evm(1),
            amount: request.authorization.value(),
            at: window.since,
            mark: request.authorization.mark(),
        };
        lists.show(moved);
        let world = world.having_lost(window).back_to(backup).await;
        assert!(world.cards().is_empty());
        let world = world.reconciling(lists.reconciling()).await;
        world.store.hold_after(after, true);
        eventually("a cut", async || {
            world.store.is_starving() || world.store.committed() >= after
        })
        .await;
        let world = world.crash().await;
        becomes(&world, "paid", 0, "adopted").await;
        eventually("the card is usable", async || {
            world.cards().first().is_some_and(|(_, card)| card.details().is_some())
        })
        .await;
        let cards = world.cards();
        assert_eq!((cards.len(), cards[0].0, cards[0].1.owner), (1, card, evm(1)));
        assert_eq!(
            (world.issuer.cards(), world.chain.transfers()),
            (1, 1),
            "cut after {after}"
        );
        assert_eq!(balance(&world, 1).await, 0);
        let books: Vec<_> = world.books().into_iter().collect();
        let sold = [
            (Place::Treasury(Network::Base), 5_000_000),
            (Place::Provider(Provider::CardIssuer), -5_000_000),
        ];
        assert_eq!(books, sold, "cut after {after}");
        let again = world.pay_until_told(&request).await;
        assert_eq!((bought(&again), again.won), (card, false));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_80_what_a_rail_has_paid_is_nobodys_credit() {
    // Aim: a payout of the lost history, whose payee no list names: it waits with what the rail shows.
    let lists = Arc::new(TestLists::default());
    let world = World::new().await;
    verified(&world, evm(1)).await;
    let (backup, window) = (world.store.backup(), lost(&world));
    let request = to_app(1, "@ada");
    world.rails.moods(&[Mood::Ready, Mood::Ready]);
    let payout = paid_out(&world, &request).await;
    eventually("the rail has it", async || world.rails.paid() == 1).await;
    world.rails.knows(EffectId(payout.0), 2, complete());
    lists.show(Movement {
        other: evm(1),
        amount: request.authorization.value(),
        mark: request.authorization.mark(),
        ..came("paid", 0, 0, window.since)
    });
    let world = world.having_lost(window).back_to(backup).await;
    let world = world.reconciling(lists.reconciling()).await;
    becomes(&world, "paid", 0, "waiting").await;
    let shows = incoming(&world, "paid", 0).await.unwrap().shows.unwrap();
    assert!(shows.starts_with("payouts: "), "{shows}");
    assert_eq!((balance(&world, 1).await, world.rails.paid()), (0, 1));
    // Presented again, it is the same order at the rail.
    let again = paid_out(&world, &request).await;
    assert_eq!(again, payout);
    becomes(&world, "paid", 0, "claimed").await;
    assert_eq!(world.rails.paid(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_declined_payment_that_landed_after_the_backup_has_its_card() {
    // Aim: the backup knows a payment as declined; in the history that was lost it was presented again, landed and bought a card: the
    // restored service finds the card at the issuer and credits nothing.
    use crate::support::ports::Fate;
    let lists = Arc::new(TestLists::default());
    let world = World::new().await.reconciling(lists.reconciling()).await;
    let request = card_for(evm(1), 1);
    world.chain.fate(&request.authorization, Fate::Declined);
    let told = world.pay_until_told(&request).await;
    let payment = world.engine.payment(&told.payment).await.unwrap().unwrap();
    assert_eq!(payment.status(), "declined");
    let (backup, window) = (world.store.backup(), lost(&world));
    world.chain.land(&request.authorization);
    lists.enter(told.payment.product(), Standing::Done, 500);
    let world = world.having_lost(window).back_to(backup).await;
    eventually("it has its card", async || {
        let payment = world.engine.payment(&told.payment).await.unwrap().unwrap();
        payment.status() == "fulfilled"
    })
    .await;
    let payment = world.engine.payment(&told.payment).await.unwrap().unwrap();
    let purser_actors::payment::Status::Fulfilled { product, .. } = payment.status else {
        panic!("{payment:?}")
    };
    assert!(matches!(product, Product::Card(card) if card.0 == told.payment.product()));
    assert_eq!(balance(&world, 1).await, 0);
}

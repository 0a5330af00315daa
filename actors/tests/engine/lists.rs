//! Lists of the bank, of the card program and of the bridge against the books; and what a list that hangs, and a row that
//! cannot be read, must not hide.

use std::sync::Arc;

use purser_actors::account::Outgoing;
use purser_actors::banking::transfer::Wanted;
use purser_actors::engine::{NotResolved, PayRequest, Reconciler, Says, Walk};
use purser_actors::id::{BankAccountId, BankTransferId, CardId, EffectId, RequestId, TopUpId, Wallet, WithdrawalId};
use purser_actors::kernel::{Kind, table};
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{Act, Role};
use purser_actors::payment::Outcome;
use purser_actors::port::banking::Ramp;
use purser_actors::port::{Entry, Movement, Timestamp};
use purser_actors::product::{Product, Purchase};
use purser_actors::reconcile::{Money, Source, Standing};
use purser_actors::top_up::LegName;

use crate::reconciliation::{finds, kinds, pays, walked};
use crate::support::lists::{TestLists, dollars, entry};
use crate::support::ports::Mood;
use crate::support::world::{World, bought, card_for, evm};
use crate::support::{eventually, in_time};

const OWNER: Wallet = evm(1);
const ACCOUNT: BankAccountId = BankAccountId(3);
const TRANSFER: BankTransferId = BankTransferId(4);
const DEPOSIT_ADDRESS: [u8; 20] = [0xdd; 20];

/// A world whose owner has 5.00 and an account at the bank, and everybody's lists, which know of that.
async fn banked(ramp: Ramp) -> (World, Arc<TestLists>) {
    let (world, lists) = (World::new().await, Arc::new(TestLists::default()));
    world.issuer.moods(&[Mood::Declines]);
    pays(&world, &lists, &card_for(OWNER, 1)).await;
    let opened = world
        .engine
        .open_bank_account(ACCOUNT, OWNER, "cus".into(), (ramp, None), None);
    opened.await.expect("a new account");
    world.quiet().await;
    (world, lists)
}

/// Somebody looks, and nothing differs.
pub(crate) async fn agreed(world: World, lists: &Arc<TestLists>) -> World {
    lists.trouble(None);
    let world = world.reconciling(lists.reconciling()).await;
    walked(&world).await;
    assert_eq!(kinds(&world).await, [""; 0]);
    world
}

/// What is lost, done twice, of another amount or in another state on a list is a difference of that kind, until it is right
/// again; `double` is the name of what nobody asked for.
pub(crate) async fn each_way(world: &World, lists: &TestLists, source: Source, right: Entry, double: &str) {
    let subject = async || {
        let open = world.engine.differences(None, 10).await.unwrap();
        let [(_, one)] = &open[..] else { panic!("{open:?}") };
        assert_eq!(one.found.source, source);
        one.found.subject.clone()
    };
    lists.take(source, &right.name);
    finds(world, &["provider_lacks"]).await;
    let ours = subject().await;
    assert!(ours.is_some());
    lists.put(source, right.clone());
    finds(world, &[]).await;
    let more = match right.money {
        Money::Usdc(amount) => Money::Usdc(Usdc::from_atomic(amount.atomic() + 1)),
        Money::Cents(amount, currency) => Money::Cents(Cents::new(amount.get() + 1), currency),
    };
    let changed = Entry {
        money: more,
        ..right.clone()
    };
    lists.put(source, changed);
    finds(world, &["amount_differs"]).await;
    assert_eq!(subject().await, ours);
    let refused = Entry {
        standing: Standing::Refused,
        ..right.clone()
    };
    lists.put(source, refused);
    finds(world, &["state_differs"]).await;
    lists.put(source, right.clone());
    finds(world, &[]).await;
    let twice = entry(double, right.standing, right.money);
    lists.put(source, twice);
    finds(world, &["provider_has_unknown"]).await;
    assert_eq!(subject().await, None);
    lists.take(source, double);
    finds(world, &[]).await;
}

fn wanted(cents: u64) -> Wanted {
    Wanted {
        owner: OWNER,
        account: ACCOUNT,
        cents: Cents::new(cents),
        amount: Usdc::from_cents(Cents::new(cents)).unwrap(),
        note: None,
    }
}

async fn to_the_bank(world: &World, transfer: BankTransferId, cents: u64) {
    let pay = world
        .engine
        .pay_out(OWNER, Outgoing::Transfer(transfer, wanted(cents)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    world.quiet().await;
}

async fn balance(world: &World) -> u64 {
    let account = world.engine.account(&OWNER).await.unwrap().unwrap();
    account.balance.atomic()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_bank_moved_otherwise_is_a_difference() {
    // Aim: a transfer that the bank lost, made twice, or made of another amount; one in each direction.
    let (world, lists) = banked(Ramp::Off).await;
    to_the_bank(&world, TRANSFER, 4_00).await;
    let drawn = world.engine.draw_bank_money(BankTransferId(5), wanted(1_50), None);
    in_time("an answer", drawn).await.expect("it is taken on");
    world.quiet().await;
    for (key, cents) in [(TRANSFER.0, 4_00), (5, 1_50)] {
        lists.put(Source::Bank, entry(EffectId(key), Standing::Done, dollars(cents)));
    }
    let world = agreed(world, &lists).await;
    for (key, cents) in [(TRANSFER.0, 4_00), (5, 1_50)] {
        let right = entry(EffectId(key), Standing::Done, dollars(cents));
        each_way(&world, &lists, Source::Bank, right, &EffectId(99).to_string()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_came_in_at_the_bank_otherwise_is_a_difference() {
    // Aim: a deposit that is credited and not the bank's, one that is the bank's and credited to nobody, one of other money.
    let (world, lists) = banked(Ramp::On).await;
    world.bank.tell("wire 1", ACCOUNT, 1_00);
    eventually("it is credited", async || balance(&world).await == 6_000_000).await;
    world.quiet().await;
    let right = entry("wire 1", Standing::Done, dollars(1_00));
    lists.put(Source::BankDeposits, right.clone());
    let world = agreed(world, &lists).await;
    each_way(&world, &lists, Source::BankDeposits, right, "wire 2").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_comes_back_and_cannot_be_credited_is_seen() {
    // Aim: too much, a stranger's, a second time: each is a difference under the bank's name of it, and what was credited is
    // none. A deposit into an account that none is credited from is one too.
    let (world, lists) = banked(Ramp::Off).await;
    to_the_bank(&world, TRANSFER, 4_00).await;
    lists.put(Source::Bank, entry(EffectId(TRANSFER.0), Standing::Done, dollars(4_00)));
    let back = |transfer: BankTransferId, name: &str, cents| {
        world.bank.gives_back(transfer, name, ACCOUNT, cents);
        lists.put_returned(transfer, entry(name, Standing::Done, dollars(cents)));
    };
    back(TRANSFER, "too much", 4_01);
    back(BankTransferId(98), "a stranger's", 1_00);
    back(TRANSFER, "ach", 3_99);
    back(TRANSFER, "once more", 1);
    world.bank.tell("wire", ACCOUNT, 7);
    lists.put(Source::BankDeposits, entry("wire", Standing::Done, dollars(7)));
    eventually("all of it is heard", async || world.bank.is_heard()).await;
    world.quiet().await;
    lists.trouble(None);
    let world = world.reconciling(lists.reconciling()).await;
    finds(&world, &["provider_has_unknown"; 4]).await;
    let open = world.engine.differences(None, 10).await.unwrap();
    let mut named: Vec<_> = open.iter().map(|(_, open)| open.found.key.as_str()).collect();
    named.sort_unstable();
    assert_eq!(named, ["a stranger's", "once more", "too much", "wire"]);
    assert_eq!(balance(&world).await, 1_000_000 + 3_990_000);
    let right = entry("ach", Standing::Done, dollars(3_98));
    lists.put_returned(TRANSFER, right);
    let five = ["amount_differs"].into_iter().chain(["provider_has_unknown"; 4]);
    finds(&world, &five.collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_bank_did_after_a_backup_is_credited_once_or_named() {
    // Aim: an older store is restored. What came in since is told again and credited, once; what went out since is on the
    // balance again, and is a difference under its name.
    let (world, lists) = banked(Ramp::Off).await;
    let on_ramp = BankAccountId(9);
    let opened = world
        .engine
        .open_bank_account(on_ramp, OWNER, "cus".into(), (Ramp::On, None), None);
    opened.await.expect("a new account");
    world.quiet().await;
    let backup = world.store.backup();
    to_the_bank(&world, TRANSFER, 4_00).await;
    world.bank.tell("wire", on_ramp, 2_00);
    eventually("it is credited", async || balance(&world).await == 3_000_000).await;
    world.quiet().await;
    lists.put(Source::Bank, entry(EffectId(TRANSFER.0), Standing::Done, dollars(4_00)));
    lists.put(Source::BankDeposits, entry("wire", Standing::Done, dollars(2_00)));

    let world = world.back_to(backup).await;
    eventually("it is credited again", async || balance(&world).await == 7_000_000).await;
    lists.trouble(None);
    let world = world.reconciling(lists.reconciling()).await;
    finds(&world, &["provider_has_unknown"]).await;
    walked(&world).await;
    let open = world.engine.differences(None, 10).await.unwrap();
    assert_eq!(open[0].1.found.key, EffectId(TRANSFER.0).to_string());
    assert_eq!(balance(&world).await, 7_000_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_card_program_has_otherwise_is_a_difference() {
    // Aim: a card, what is left on it, and what is set aside, until it is paid: lost, twice, of another amount, otherwise.
    let (world, lists) = (World::new().await, Arc::new(TestLists::default()));
    world.store.scribble(table::linked(&OWNER), &DEPOSIT_ADDRESS);
    world.program.load(DEPOSIT_ADDRESS, 10_00);
    let card = CardId(7);
    let ordered = (card, OWNER, DEPOSIT_ADDRESS);
    let created = world
        .engine
        .create_reloadable(ordered, (Cents::new(6_00), true), None, None);
    in_time("an answer", created).await.expect("it is taken on");
    world.quiet().await;
    assert!(world.program.charge(card, 1_00));
    let left = async || {
        world
            .engine
            .reloadable(&card)
            .await
            .unwrap()
            .unwrap()
            .activity
            .available
    };
    eventually("it is heard", async || left().await == Cents::new(5_00)).await;
    let withdrawal = (WithdrawalId(8), OWNER, DEPOSIT_ADDRESS);
    let asked = world
        .engine
        .withdraw_card_balance(withdrawal, (evm(7), Cents::new(3_00)), None);
    in_time("an answer", asked).await.expect("it is taken on");
    world.quiet().await;
    let (opened, held, rest) = (
        entry(EffectId(7), Standing::Done, dollars(6_00)),
        entry(EffectId(8), Standing::Held, dollars(3_00)),
        entry(EffectId(7), Standing::Done, dollars(5_00)),
    );
    for (source, entry) in [
        (Source::CardProgram, &opened),
        (Source::CardProgram, &held),
        (Source::CardBalances, &rest),
    ] {
        lists.put(source, entry.clone());
    }
    let world = agreed(world, &lists).await;
    let double = EffectId(99).to_string();
    each_way(&world, &lists, Source::CardProgram, opened, &double).await;
    each_way(&world, &lists, Source::CardProgram, held.clone(), &double).await;
    each_way(&world, &lists, Source::CardBalances, rest, &double).await;
    // Paid out by nobody here.
    let paid = Entry {
        standing: Standing::Done,
        ..held
    };
    lists.put(Source::CardProgram, paid);
    finds(&world, &["state_differs"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_the_bridge_carries_otherwise_is_a_difference() {
    // Aim: a crossing that it lost, carries twice, of another amount, or that is not minted.
    let (world, lists) = (World::new().await, Arc::new(TestLists::default()));
    let payer = Wallet::Solana([1; 32]);
    world.store.scribble(table::linked(&payer), &DEPOSIT_ADDRESS);
    let request = PayRequest {
        purchase: Purchase::CardBalance {
            amount: Cents::new(500),
        },
        ..card_for(payer, 1)
    };
    let (paid, _) = pays(&world, &lists, &request).await;
    let Outcome::Fulfilled {
        product: Product::TopUp(id),
        ..
    } = paid.outcome
    else {
        panic!("{paid:?}");
    };
    let burn = burned(&world, &lists, id).await;
    let arrives = Money::Usdc(Usdc::from_atomic(5_000_000));
    let right = entry(&burn, Standing::Done, arrives);
    lists.put(Source::Bridge, right.clone());
    let world = agreed(world, &lists).await;
    each_way(&world, &lists, Source::Bridge, right, "another burn").await;
    lists.put(Source::Bridge, entry(&burn, Standing::Held, arrives));
    finds(&world, &["state_differs"]).await;
}

/// The burn of a top-up that arrived, which is on the chain's list from now on.
async fn burned(world: &World, lists: &TestLists, id: TopUpId) -> String {
    let top_up = world.engine.top_up(&id).await.unwrap().unwrap();
    let burn = top_up.transaction(LegName::Burn).expect("it was burned").to_owned();
    lists.show(Movement {
        transaction: burn.clone(),
        index: 0,
        incoming: false,
        other: Wallet::Solana([9; 32]),
        amount: top_up.spent,
        at: Timestamp(0),
        mark: [0; 32],
    });
    burn
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_list_that_hangs_is_waited_for_once_a_step_and_hides_no_other() {
    // Aim: three transfers that the bank does not answer for cost one time-out, not three, and what the issuer lacks is found
    // beside them.
    let (world, lists) = banked(Ramp::Off).await;
    for n in 10..13 {
        to_the_bank(&world, BankTransferId(n), 1_00).await;
    }
    let (paid, _) = pays(&world, &lists, &card_for(OWNER, 2)).await;
    lists.trouble(None);
    let mut reconciling = lists.reconciling();
    (reconciling.pace.page, reconciling.pace.timeout_ms) = (1_000, 20);
    let mut reconciler = Reconciler::new(world.store.clone(), world.clock.clone(), reconciling)
        .await
        .unwrap();
    let mut all = Vec::new();
    let mut walk = Walk::default();
    while !walk.is_over() {
        all.extend(reconciler.step(&mut walk).await);
    }
    assert_eq!((all.len(), walk.skipped), (4, false), "{all:?}");
    lists.hang(Some(Source::Bank));
    let (mut walk, mut found) = (Walk::default(), Vec::new());
    found.extend(reconciler.step(&mut walk).await);
    assert!(walk.is_over() && walk.skipped, "{walk:?}");
    let subjects: Vec<_> = found.iter().map(|found| found.subject.clone()).collect();
    assert_eq!(subjects, [Some(bought(&paid).to_string())]);
    let mut again = 0;
    for one in &all {
        again += usize::from(reconciler.look_again(one).await.is_ok());
    }
    assert_eq!((again, lists.unanswered()), (1, 1), "the others are not asked again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_row_that_cannot_be_read_hides_none_of_its_table() {
    // Aim: a card's row is rubbish; the next card, which the issuer lacks, is found all the same, and the walk does not count
    // as whole.
    let (world, lists) = (World::new().await, Arc::new(TestLists::default()));
    let (paid, _) = pays(&world, &lists, &card_for(OWNER, 1)).await;
    lists.trouble(None);
    world
        .store
        .scribble(table::entity(Kind::Card, &0_u128.to_be_bytes()), b"rubbish");
    lists.enter(0, Standing::Done, 500);
    let mut reconciler = Reconciler::new(world.store.clone(), world.clock.clone(), lists.reconciling())
        .await
        .unwrap();
    let (mut walk, mut found) = (Walk::default(), Vec::new());
    while !walk.is_over() {
        found.extend(reconciler.step(&mut walk).await);
    }
    let subjects: Vec<_> = found.iter().map(|found| found.subject.clone()).collect();
    assert_eq!(subjects, [Some(bought(&paid).to_string())]);
    assert!(walk.skipped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_transfer_that_the_bank_made_is_credited_by_nobodys_word() {
    // Aim: the bank's answer was lost and its list has the move: an operator's statement does not stand against that.
    let (world, lists) = banked(Ramp::Off).await;
    lists.trouble(None);
    let world = world.reconciling(lists.reconciling()).await;
    world.bank.moods(&[Mood::Silent, Mood::Broken]);
    let pay = world
        .engine
        .pay_out(OWNER, Outgoing::Transfer(TRANSFER, wanted(4_00)), None);
    in_time("an answer", pay).await.expect("it is taken on");
    eventually("stuck", async || world.engine.stuck().await.unwrap().effects.len() == 1).await;
    let effect = world.engine.stuck().await.unwrap().effects.remove(0);
    lists.put(Source::Bank, entry(EffectId(TRANSFER.0), Standing::Done, dollars(4_00)));
    let says = world.engine.says(&effect).await;
    let act = Act {
        by: "ana".into(),
        role: Role::Operator,
        request: RequestId(7),
    };
    let told = world.engine.credit_back(effect.id, ("x", true), &act).await;
    assert_eq!(says.unwrap(), Says::Stands(Standing::Done));
    assert_eq!(told, Err(NotResolved::Contradicted(Standing::Done)));
    assert_eq!((world.bank.moved(), balance(&world).await), (400, 1_000_000));
}

//! Top-ups of the card balance, leg by leg: over every bridge fault and power cut, one burn, one mint and one card
//! balance, or one credit.

use purser_actors::engine::{ClaimError, PaymentRequest};
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::top_up::{CardBalancePurchase, LegKind, Status, TopUp};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{Network, RequestId, TopUpId, Wallet};
use purser_actors::kernel::{OutboxJob, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{OperatorAction, Role};
use purser_actors::product::Precondition;
use purser_storage::{Batch, Store, Write};

use crate::support::bridge::{CallBehavior, CallSite, FEE};
use crate::support::eventually;
use crate::support::harness::{Harness, card_for, evm};
use crate::support::ports::PaymentBehavior;
use crate::support::settings::fast;

const ADDRESS: [u8; 20] = [0xdd; 20];
const FIVE: i128 = 5_000_000;

fn solana(n: u8) -> Wallet {
    Wallet::Solana([n; 32])
}

/// A top-up of 5 dollars to the payer's card balance.
pub(crate) fn top_up_for(payer: Wallet, nonce: u8) -> PaymentRequest {
    PaymentRequest {
        purchase: Purchase::CardBalance(CardBalancePurchase {
            amount: Cents::new(500),
        }),
        ..card_for(payer, nonce)
    }
}

pub(crate) fn link(world: &Harness, wallet: Wallet) {
    world.store.overwrite(table::issuer_linked(&wallet), &ADDRESS);
}

fn unlink(world: &Harness, wallet: Wallet) {
    let key = table::issuer_linked(&wallet);
    let batch = Batch {
        writes: vec![Write::Delete { key }],
        ..Batch::default()
    };
    world.store.commit(batch, Box::new(|_| {}));
}

pub(crate) async fn buy(world: &Harness, request: &PaymentRequest) -> TopUpId {
    match world.pay_until_known(request).await.outcome {
        Outcome::Fulfilled {
            product: PurchasedProduct::TopUp(id),
            ..
        } => id,
        other => panic!("nothing was bought: {other:?}"),
    }
}

async fn read(world: &Harness, id: TopUpId) -> TopUp {
    world.engine.top_up(&id).await.unwrap().unwrap()
}

/// Asserts everything about a delivered top-up: its legs, events, ledger and the providers' records.
async fn assert_arrived(world: &Harness, id: TopUpId) {
    world.wait_until_idle().await;
    let top_up = read(world, id).await;
    assert_eq!(top_up.status, Status::Credited);
    let (rail, price) = (top_up.rail, LedgerAccount::Treasury(top_up.rail));
    let legs: Vec<_> = top_up.legs.iter().map(|leg| leg.leg.name()).collect();
    let (wanted, left, cost) = match rail {
        Network::Solana => (vec!["burn", "mint"], FIVE + i128::from(FEE), i128::from(FEE)),
        Network::Base => (vec!["transfer"], FIVE, 0),
    };
    assert_eq!(legs, wanted);
    // A transfer signed by the treasury is stored by what the chain shows of it.
    let marks = top_up.legs.iter().filter(|leg| leg.leg.fingerprint().is_some()).count();
    assert_eq!(marks, usize::from(rail == Network::Base));
    let mut books = vec![(price, FIVE - left), (LedgerAccount::OperatingCosts, cost)];
    books.retain(|(_, atomic)| *atomic != 0);
    assert_eq!(world.ledger_balances().into_iter().collect::<Vec<_>>(), books);
    let counts = ["paid", "bridging", "delivered", "credited", "failed"]
        .map(|state| world.event_count(&format!("top_up.{state}")));
    assert_eq!(counts, [1, usize::from(rail == Network::Solana), 1, 1, 0]);
    let counted = world.bridge.credits();
    assert_eq!(
        (counted.len(), counted[0].address, counted[0].amount.atomic()),
        (1, ADDRESS, 5_000_000)
    );
    assert_eq!(
        world.bridge.burns(),
        if rail == Network::Solana {
            vec![5_000_000 + FEE]
        } else {
            vec![]
        }
    );
    assert_eq!(
        world.bridge.mints(),
        if rail == Network::Solana {
            vec![5_000_000]
        } else {
            vec![]
        }
    );
}

/// Asserts that the whole charge is credited once, with this code.
pub(crate) async fn assert_credited(world: &Harness, id: TopUpId, owner: Wallet, code: &str) {
    world.wait_until_idle().await;
    assert_eq!(read(world, id).await.status, Status::Failed { reason: code.into() });
    let account = world.engine.account(&owner).await.unwrap().unwrap();
    assert_eq!(account.balance.atomic(), 5_000_000);
    assert_eq!(
        (
            world.event_count("top_up.failed"),
            world.event_count("balance.credited")
        ),
        (1, 1)
    );
    assert!(world.bridge.mints().is_empty() && world.bridge.credits().is_empty());
    assert!(
        !world
            .ledger_balances()
            .contains_key(&LedgerAccount::Provider(LedgerProvider::CardBalances))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_39_40_exact_amount_arrives_over_either_rail() {
    // Checks: on Base it is forwarded and never bridging; on Solana more is burned than arrives, and the fee is our
    // cost.
    for payer in [evm(1), solana(1)] {
        let world = Harness::new().await;
        link(&world, payer);
        let id = buy(&world, &top_up_for(payer, 1)).await;
        assert_arrived(&world, id).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_40_surplus_arrives_and_is_posted() {
    // Checks: the bridge takes less than its highest fee. Everything burned arrives, the issuer is asked for that
    // amount, and costs include only the fee taken.
    let world = Harness::new().await;
    link(&world, solana(1));
    world.bridge.set_behaviors(CallSite::Attest, &[CallBehavior::More]);
    let id = buy(&world, &top_up_for(solana(1), 1)).await;
    world.wait_until_idle().await;
    let top_up = read(&world, id).await;
    assert_eq!(top_up.status, Status::Credited);
    let arrived = 5_000_000 + FEE;
    let legs: Vec<_> = top_up.legs.iter().map(|leg| leg.leg).collect();
    assert_eq!(legs, [LegKind::Burn, LegKind::MintOf(Usdc::from_atomic(arrived))]);
    assert_eq!((top_up.surplus().atomic(), world.bridge.mints()), (FEE, vec![arrived]));
    let credits: Vec<_> = world.bridge.credits().iter().map(|one| one.amount.atomic()).collect();
    assert_eq!(credits, [arrived]);
    let mut books = world.ledger_balances();
    books.retain(|_, atomic| *atomic != 0);
    let expected = [
        (LedgerAccount::Treasury(Network::Solana), -i128::from(FEE)),
        (LedgerAccount::BridgeSurplus, i128::from(FEE)),
    ];
    assert_eq!(books.into_iter().collect::<Vec<_>>(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn top_up_without_a_link_charges_nothing() {
    // Checks: it is rejected before the payment.
    let world = Harness::new().await;
    let refused = world.pay(&top_up_for(solana(1), 1)).await;
    assert_eq!(
        refused.unwrap_err(),
        ClaimError::PreconditionFailed(Precondition::IssuerLinked)
    );
    assert_eq!((world.chain.submissions(), world.bridge.calls(CallSite::Sign)), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_35_36_37_every_leg_fault_ends_in_one_burn_and_mint() {
    // Checks: lost responses, timeouts, 404 and 429, expiries, declines for lack of gas, and crashes of the job at
    // every step. The burn is found by its transaction, the mint by its nonce.
    let faults: [(CallSite, &[CallBehavior]); 16] = [
        (
            CallSite::Sign,
            &[CallBehavior::Busy, CallBehavior::NotExecuted, CallBehavior::Panics],
        ),
        (CallSite::Burn, &[CallBehavior::ResponseLost]),
        (
            CallSite::Burn,
            &[
                CallBehavior::NotExecuted,
                CallBehavior::Busy,
                CallBehavior::Declined,
                CallBehavior::Panics,
            ],
        ),
        (CallSite::Burn, &[CallBehavior::Expires, CallBehavior::Expires]),
        (CallSite::Attest, &[CallBehavior::NotYet; 200]),
        (
            CallSite::Attest,
            &[
                CallBehavior::Busy,
                CallBehavior::NotExecuted,
                CallBehavior::Panics,
                CallBehavior::Expires,
            ],
        ),
        (CallSite::Mint, &[CallBehavior::ResponseLost]),
        (
            CallSite::Mint,
            &[
                CallBehavior::Declined,
                CallBehavior::Busy,
                CallBehavior::NotExecuted,
                CallBehavior::Panics,
            ],
        ),
        (CallSite::Credit, &[CallBehavior::NotYet; 50]),
        (
            CallSite::Credit,
            &[CallBehavior::Busy, CallBehavior::NotExecuted, CallBehavior::Panics],
        ),
        (
            CallSite::Mint,
            &[
                CallBehavior::NotExecuted,
                CallBehavior::Declined,
                CallBehavior::ResponseLost,
            ],
        ),
        (
            CallSite::Attest,
            &[CallBehavior::Expires, CallBehavior::NotYet, CallBehavior::Expires],
        ),
        // A burn that is too small for the amount is not sent.
        (CallSite::Sign, &[CallBehavior::Short, CallBehavior::Short]),
        // The attestation has expired since it was stored: the mint uses a new one.
        (CallSite::Mint, &[CallBehavior::Expires]),
        (
            CallSite::Mint,
            &[
                CallBehavior::Declined,
                CallBehavior::Expires,
                CallBehavior::NotExecuted,
                CallBehavior::Expires,
            ],
        ),
        (
            CallSite::Mint,
            &[
                CallBehavior::NotExecuted,
                CallBehavior::Expires,
                CallBehavior::ResponseLost,
            ],
        ),
    ];
    for (at, met) in faults {
        let world = Harness::new().await;
        link(&world, solana(1));
        world.bridge.set_behaviors(at, met);
        let id = buy(&world, &top_up_for(solana(1), 1)).await;
        assert_arrived(&world, id).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_35_top_up_stays_bridging_without_an_attestation() {
    // Checks: a burn without an attestation neither fails nor is credited, however long it takes, and unlinking changes
    // nothing.
    let world = Harness::new().await;
    link(&world, solana(1));
    world
        .bridge
        .set_behaviors(CallSite::Attest, &[CallBehavior::NotYet; 400]);
    let id = buy(&world, &top_up_for(solana(1), 1)).await;
    eventually("it is asked and asked", async || {
        world.bridge.calls(CallSite::Attest) > 20
    })
    .await;
    unlink(&world, solana(1));
    world.clock.advance(3_600_000);
    eventually("and asked", async || world.bridge.calls(CallSite::Attest) > 40).await;
    assert!(matches!(read(&world, id).await.status, Status::Bridging(_)));
    assert_arrived(&world, id).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_36_nonce_used_by_another_minter_is_success() {
    // Checks: any minter may mint; Base shows the result.
    let world = Harness::new().await;
    link(&world, solana(1));
    world
        .bridge
        .set_behaviors(CallSite::Mint, &[CallBehavior::NotExecuted; 5]);
    let id = buy(&world, &top_up_for(solana(1), 1)).await;
    eventually("the mint is tried", async || world.bridge.calls(CallSite::Mint) > 0).await;
    world.bridge.mint_by_others();
    assert_arrived(&world, id).await;
    let top_up = read(&world, id).await;
    assert!(
        top_up
            .transaction(LegKind::Mint)
            .is_some_and(|t| t.starts_with("0xother")),
        "{:?}",
        top_up.legs
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_38_top_up_fails_only_before_burn_or_without_possible_mint() {
    // Checks: the whole charge is credited once with its code, and never minted as well; a burned and lost amount is
    // our cost.
    for (at, met, code, burns) in [
        (CallSite::Sign, &[CallBehavior::Never][..], "delivery_unavailable", 0),
        (CallSite::Sign, &[CallBehavior::Busy; 20], "delivery_unavailable", 0),
        (CallSite::Burn, &[CallBehavior::Never], "delivery_declined", 0),
        (CallSite::Burn, &[CallBehavior::Expires; 3], "delivery_expired", 0),
        (CallSite::Mint, &[CallBehavior::Never], "mint_impossible", 1),
    ] {
        let world = Harness::new().await;
        link(&world, solana(1));
        world.bridge.set_behaviors(at, met);
        let id = buy(&world, &top_up_for(solana(1), 1)).await;
        assert_credited(&world, id, solana(1), code).await;
        assert_eq!(world.bridge.burns().len(), burns);
        let cost = world
            .ledger_balances()
            .get(&LedgerAccount::OperatingCosts)
            .copied()
            .unwrap_or(0);
        assert_eq!(cost, if burns == 1 { FIVE + i128::from(FEE) } else { 0 });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_41_account_unlinked_before_delivery_is_credited() {
    // Checks: unlinked during settlement, on either rail: nothing is sent, and there is one credit. An existing burn
    // continues.
    for payer in [evm(1), solana(1)] {
        let world = Harness::new().await;
        link(&world, payer);
        let request = top_up_for(payer, 1);
        world.chain.set_behavior(&request.authorization, PaymentBehavior::Waits);
        let call = tokio::spawn({
            let (engine, request) = (world.engine.clone(), request.clone());
            async move { engine.pay(request).await }
        });
        eventually("it is on its way", async || world.chain.at_gate() == 1).await;
        unlink(&world, payer);
        world.chain.open_gate();
        call.await.unwrap().unwrap();
        let id = buy(&world, &request).await;
        assert_credited(&world, id, payer, "issuer_not_linked").await;
        assert!(world.bridge.burns().is_empty());
        assert_eq!(world.chain.transfers(), 1, "the payment's own");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn top_up_that_the_issuer_never_credits_is_dead_lettered() {
    // Checks: after `delivered` the issuer has the money; the job is dead-lettered and the balance does not change.
    let mut settings = fast();
    settings.card_credit_timeout_ms = 50;
    let world = Harness::with(settings).await;
    link(&world, evm(1));
    world.bridge.never_credits();
    let id = buy(&world, &top_up_for(evm(1), 1)).await;
    eventually("it is dead-lettered", async || {
        let open = world.engine.open_jobs(10).await.unwrap();
        open.iter().any(|e| {
            e.dead_lettered
                && e.last_error
                    .as_ref()
                    .is_some_and(|e| e.contains("issuer_has_not_credited"))
        })
    })
    .await;
    assert_eq!(read(&world, id).await.status, Status::Delivered);
    assert_eq!(
        world.engine.account(&evm(1)).await.unwrap().unwrap().balance.atomic(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn foreign_attestation_is_never_minted() {
    // Checks: an attestation with another recipient, token or amount, or a message that no row accepts, is
    // dead-lettered with its error. Once the bridge attests the right burn, a retry completes it.
    for (met, name) in [
        (CallBehavior::ToAnother, "the attested receiver"),
        (CallBehavior::OfAnother, "the attested token"),
        (CallBehavior::Less, "the attested amount"),
        (CallBehavior::Impossible, "more than was burned"),
        (CallBehavior::Long, "the attested message"),
    ] {
        let world = Harness::new().await;
        link(&world, solana(1));
        world.bridge.set_behaviors(CallSite::Attest, &[met]);
        let id = buy(&world, &top_up_for(solana(1), 1)).await;
        let mut found = None;
        eventually("the job is dead-lettered with this error", async || {
            let open = world.engine.open_jobs(10).await.unwrap();
            let named = |e: &OutboxJob| e.last_error.as_ref().is_some_and(|error| error.contains(name));
            found = open.iter().find(|e| e.dead_lettered && named(e)).map(|e| e.id);
            found.is_some()
        })
        .await;
        assert!(matches!(read(&world, id).await.status, Status::Bridging(_)), "{met:?}");
        assert_eq!(
            (world.bridge.calls(CallSite::Mint), world.event_count("top_up.failed")),
            (0, 0)
        );
        let act = OperatorAction {
            operator: "ana".into(),
            role: Role::Operator,
            request_id: RequestId(7),
        };
        world.engine.retry_job(found.unwrap(), &act).await.unwrap();
        assert_arrived(&world, id).await;
    }
}

/// Cuts the power after each batch, restarts, and waits for the end.
async fn assert_one_outcome_after_crash(payer: Wallet, (at, met): (CallSite, &[CallBehavior]), last_is_answered: bool) {
    let mut cuts = 0;
    for after in 0.. {
        assert!(after < 60, "it never gets through");
        let world = Harness::new().await;
        link(&world, payer);
        let request = top_up_for(payer, 1);
        world.bridge.set_behaviors(at, met);
        let from = world.store.committed();
        world.store.hold_after(after, last_is_answered);
        let call = tokio::spawn({
            let (engine, request) = (world.engine.clone(), request.clone());
            async move { engine.pay(request).await }
        });
        let mut through = false;
        eventually("the cut or the end", async || {
            through =
                call.is_finished() && !world.bridge.credits().is_empty() && world.event_count("top_up.credited") == 1;
            through || world.store.is_starving() || (!last_is_answered && world.store.committed() >= after + from)
        })
        .await;
        let world = world.crash().await;
        call.abort();
        let id = buy(&world, &request).await;
        assert_arrived(&world, id).await;
        if through {
            break;
        }
        cuts += 1;
    }
    assert!(cuts >= 5, "every leg is a batch of its own: {cuts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_37_crash_at_any_batch_leaves_one_burn_and_mint() {
    // Checks: before and after each batch, with and without the responses of burn and mint.
    for (at, met) in [
        (CallSite::Burn, &[][..]),
        (CallSite::Burn, &[CallBehavior::ResponseLost]),
        (CallSite::Mint, &[CallBehavior::ResponseLost]),
    ] {
        for last_is_answered in [true, false] {
            assert_one_outcome_after_crash(solana(1), (at, met), last_is_answered).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_37_39_crash_at_any_batch_on_base_forwards_once() {
    // Checks: the same without a bridge.
    for last_is_answered in [true, false] {
        assert_one_outcome_after_crash(evm(1), (CallSite::Credit, &[]), last_is_answered).await;
    }
}

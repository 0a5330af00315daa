//! Payouts through the whole engine: preconditions before settlement, one order under one key, rail events in any
//! order, returns, recalls and operator decisions.

use purser_actors::currency::Currency;
use purser_actors::engine::{ClaimError, PaymentRequest};
use purser_actors::entity::bank_destination::{BankDestination, BankRecipient, DestinationType};
use purser_actors::entity::payment::Outcome;
use purser_actors::entity::payout::{AppPaymentPurchase, BankPaymentPurchase, PushToCardPurchase};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{BankDestinationId, BankRecipientId, PayoutId, Wallet};
use purser_actors::kernel::{Entity, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::ErrorKind;
use purser_actors::port::payouts::{AppPayee, BankDetails, PayoutDestination, Platform, RecallResult};
use purser_actors::product::Precondition;
use purser_storage::{Batch, Store as _, Write};

use crate::support::eventually;
use crate::support::harness::{Harness, card_for, evm};
use crate::support::payouts::{complete, failed, in_process, returned_status};
use crate::support::ports::{IssuerBehavior, error};

pub(crate) const OWN_DESTINATION: BankDestinationId = BankDestinationId(7);

pub(crate) async fn register(world: &Harness, owner: Wallet, id: BankDestinationId) {
    let details = BankDetails {
        name: "Rent".into(),
        bank_name: "First Bank".into(),
        account_holder_name: "Ada Lovelace".into(),
        last4: "6789".into(),
        routing_number: "021000021".into(),
    };
    let destination = BankDestination {
        owner,
        recipient: BankRecipient {
            id: BankRecipientId(1),
            name: "Ada Lovelace".into(),
            address: String::new(),
        },
        scheme: DestinationType::FiatUs,
        details,
        created_at: Default::default(),
        active: true,
    };
    let registered = world
        .engine
        .register_destination(id, destination, vec![id.0 as u8; 40], None)
        .await;
    registered.expect("a new destination");
}

/// 4.50 for the price of 5.00.
fn request_for(nonce: u8, purchase: Purchase) -> PaymentRequest {
    PaymentRequest {
        purchase,
        worth: Cents::new(4_50),
        ..card_for(evm(1), nonce)
    }
}

pub(crate) fn to_bank(nonce: u8, destination: BankDestinationId) -> PaymentRequest {
    let amount = Cents::new(4_50);
    request_for(
        nonce,
        Purchase::BankPayment(BankPaymentPurchase { amount, destination }),
    )
}

fn to_card(nonce: u8) -> PaymentRequest {
    let (amount, currency) = (Cents::new(4_50), Currency::USD);
    let message = Some("Rent <b>March".to_owned());
    request_for(
        nonce,
        Purchase::PushToCard(PushToCardPurchase {
            amount,
            currency,
            message,
        }),
    )
}

pub(crate) fn to_app(nonce: u8, recipient: &str) -> PaymentRequest {
    let payee = AppPayee {
        recipient: recipient.into(),
        first_name: "Ada".into(),
        last_name: "Lovelace".into(),
        email: "ada@example.com".into(),
    };
    let purchase = Purchase::AppPayment(AppPaymentPurchase {
        amount: Cents::new(4_50),
        platform: Some(Platform::Paypal),
        payee: Box::new(payee),
    });
    request_for(nonce, purchase)
}

pub(crate) async fn buy(world: &Harness, request: &PaymentRequest) -> PayoutId {
    match world.pay_until_known(request).await.outcome {
        Outcome::Fulfilled {
            product: PurchasedProduct::Payout(id),
            ..
        } => id,
        other => panic!("no payout was bought: {other:?}"),
    }
}

pub(crate) async fn wait_for_status(world: &Harness, id: PayoutId, status: &str) {
    let is = async || world.engine.payout(&id).await.unwrap().unwrap().status() == status;
    eventually(status, is).await;
}

pub(crate) async fn balance(world: &Harness) -> Usdc {
    world.engine.account(&evm(1)).await.unwrap().unwrap().balance
}

/// Job types of all dead letters.
async fn dead_lettered(world: &Harness) -> Vec<&'static str> {
    let open = world.engine.open_jobs(100).await.unwrap();
    open.iter().filter(|e| e.dead_lettered).map(|e| e.job.name()).collect()
}

pub(crate) async fn verified(world: &Harness, wallet: Wallet) {
    let (done, committed) = tokio::sync::oneshot::channel();
    let batch = Batch {
        writes: vec![Write::Put {
            key: table::verified(&wallet),
            revision: 0,
            value: Vec::new(),
        }],
        ..Batch::default()
    };
    world
        .store
        .commit(batch, Box::new(move |result| drop(done.send(result))));
    committed.await.unwrap().expect("committed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rail_pays_once_under_one_key_unless_it_declines() {
    // Checks: silent, slow and panicking rails pay once each, and every order of one payout has the same key.
    let world = Harness::new().await;
    register(&world, evm(1), OWN_DESTINATION).await;
    for (n, behavior) in [
        IssuerBehavior::Busy,
        IssuerBehavior::NotYet,
        IssuerBehavior::Panics,
        IssuerBehavior::Ready,
    ]
    .into_iter()
    .enumerate()
    {
        world.payouts.set_behaviors(&[behavior, IssuerBehavior::Ready]);
        let id = buy(&world, &to_bank(n as u8, OWN_DESTINATION)).await;
        wait_for_status(&world, id, "complete").await;
        world.wait_until_idle().await;
    }
    assert_eq!(world.payouts.paid(), 4);
    for call in world.payouts.calls() {
        let same = world.payouts.calls().into_iter().filter(|c| c.payout == call.payout);
        assert!(same.into_iter().all(|c| c == call), "one payout, one key, one content");
        assert!(
            matches!(call.to, PayoutDestination::Bank { destination: OWN_DESTINATION, ref sealed, .. } if *sealed == vec![7; 40])
        );
    }
    assert_eq!(
        world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Bank)],
        -4 * 4_500_000
    );
    assert_eq!(world.event_count("payout.complete"), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn destination_of_another_wallet_is_rejected_before_settlement() {
    // Checks (case 48): another account's, an unknown and a removed destination claim nothing and pay nothing.
    let world = Harness::new().await;
    register(&world, evm(2), OWN_DESTINATION).await;
    let removed = BankDestinationId(8);
    register(&world, evm(1), removed).await;
    world.engine.remove_destination(removed, None).await.unwrap();
    for (n, destination) in [OWN_DESTINATION, BankDestinationId(9), removed].into_iter().enumerate() {
        let refused = world.pay(&to_bank(n as u8, destination)).await.unwrap_err();
        assert_eq!(
            refused,
            ClaimError::PreconditionFailed(Precondition::OwnsDestination(destination))
        );
    }
    assert_eq!(world.chain.submissions(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn declined_payout_is_credited_once() {
    // Checks: the whole charge is credited, nothing is owed to the rail, and a restart changes nothing.
    let world = Harness::new().await;
    register(&world, evm(1), OWN_DESTINATION).await;
    world
        .payouts
        .set_behaviors(&[IssuerBehavior::Busy, IssuerBehavior::Declines]);
    let id = buy(&world, &to_bank(1, OWN_DESTINATION)).await;
    wait_for_status(&world, id, "failed").await;
    world.payouts.add_event(id, 1, failed());
    world.wait_until_idle().await;
    let world = world.crash().await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(5_000_000));
    let books = world.ledger_balances();
    assert_eq!(books.get(&LedgerAccount::Provider(LedgerProvider::Bank)), None);
    assert_eq!(books.get(&LedgerAccount::FeeRevenue), None);
    assert_eq!(world.event_count("payout.failed"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_32_payout_returned_days_later_is_credited_once() {
    // Checks: reported twice, with a power cut between, the amount less the rail's fee is credited once; our fee is
    // kept.
    let world = Harness::new().await;
    register(&world, evm(1), OWN_DESTINATION).await;
    world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
    let id = buy(&world, &to_bank(1, OWN_DESTINATION)).await;
    wait_for_status(&world, id, "complete").await;
    world.wait_until_idle().await;
    world.clock.advance(59_000);
    world.payouts.add_event(id, 3, returned_status());
    wait_for_status(&world, id, "returned").await;
    let world = world.crash().await;
    world.payouts.add_event(id, 3, returned_status());
    world.payouts.add_event(id, 4, returned_status());
    world.wait_until_idle().await;
    let heard = async || world.engine.payout(&id).await.unwrap().unwrap().last_sequence == 4;
    eventually("the last word is known", heard).await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(4_250_000));
    assert_eq!(
        world.ledger_balances()[&LedgerAccount::Provider(LedgerProvider::Bank)],
        -250_000
    );
    assert_eq!(world.ledger_balances()[&LedgerAccount::FeeRevenue], -500_000);
    assert_eq!(world.event_count("payout.returned"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_33_success_after_a_credit_is_recalled_or_dead_lettered() {
    // Checks: a rail that declines and pays afterwards is asked to recall it; if it can't, the job is dead-lettered.
    // The credit does not change.
    let world = Harness::new().await;
    register(&world, evm(1), OWN_DESTINATION).await;
    for (n, recall) in [RecallResult::Recalled, RecallResult::TooLate].into_iter().enumerate() {
        world
            .payouts
            .recalls([Err(error(ErrorKind::Unknown, "recall")), Ok(recall)]);
        world.payouts.set_behaviors(&[IssuerBehavior::Declines]);
        let id = buy(&world, &to_bank(n as u8, OWN_DESTINATION)).await;
        wait_for_status(&world, id, "failed").await;
        world.payouts.add_event(id, 5, complete());
        world.payouts.add_event(id, 4, in_process());
        world.payouts.add_event(id, 5, complete());
        let asked = async || world.payouts.recalled().iter().filter(|asked| **asked == id).count() == 2;
        eventually("the rail was asked twice", asked).await;
        match recall {
            RecallResult::Recalled => world.wait_until_idle().await,
            RecallResult::TooLate => {
                eventually("it is dead-lettered", async || {
                    dead_lettered(&world).await == ["recall_payout"]
                })
                .await
            }
        }
        wait_for_status(&world, id, "failed").await;
        let paid = 5_000_000 * (n as u64 + 1);
        assert_eq!(balance(&world).await, Usdc::from_atomic(paid));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn push_to_card_waits_for_its_form_and_expires() {
    // Checks: nothing is sent before the form is submitted. Submitted twice, it is sent once; never submitted, the
    // charge is credited.
    let world = Harness::new().await;
    let (done, never) = (buy(&world, &to_card(1)).await, buy(&world, &to_card(2)).await);
    assert!(world.payouts.calls().is_empty());
    world.payouts.set_behaviors(&[IssuerBehavior::Ready]);
    world
        .engine
        .submit_payout_details(done, "4242".into(), vec![9; 40])
        .await
        .unwrap();
    assert!(
        world
            .engine
            .submit_payout_details(done, "0000".into(), vec![8; 40])
            .await
            .is_err()
    );
    wait_for_status(&world, done, "complete").await;
    assert!(matches!(&world.payouts.calls()[0].to, PayoutDestination::Card { sealed } if *sealed == vec![9; 40]));
    world.wait_until_idle().await;
    let world = world.crash().await;
    world.clock.advance(120_001);
    wait_for_status(&world, never, "expired").await;
    world.wait_until_idle().await;
    assert!(
        world
            .engine
            .submit_payout_details(never, "4242".into(), vec![9; 40])
            .await
            .is_err()
    );
    assert_eq!(balance(&world).await, Usdc::from_atomic(5_000_000));
    assert_eq!((world.event_count("payout.expired"), world.payouts.paid()), (1, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn expired_form_credits_nothing_that_the_rail_knows() {
    // Checks: of three forms without an answer, a restore lost two orders: one that the rail reports, one that it knows
    // only when queried. Both are paid, and neither is credited or sent again. Only the order that the rail does not
    // know is credited.
    let world = Harness::new().await;
    let (reported, queried) = (buy(&world, &to_card(1)).await, buy(&world, &to_card(2)).await);
    let never = buy(&world, &to_card(3)).await;
    let key = async |id| world.engine.payout(&id).await.unwrap().unwrap().key;
    world.payouts.add_known_order(key(reported).await, 2, complete());
    world.payouts.add_event(reported, 1, in_process());
    wait_for_status(&world, reported, "complete").await;
    world.wait_until_idle().await;
    world.payouts.add_known_order(key(queried).await, 2, complete());
    world
        .payouts
        .set_find_errors(&[ErrorKind::Unknown, ErrorKind::Temporary, ErrorKind::Unknown]);
    world.clock.advance(120_001);
    wait_for_status(&world, queried, "complete").await;
    wait_for_status(&world, never, "expired").await;
    world.wait_until_idle().await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(5_000_000));
    assert_eq!(
        (world.payouts.calls().len(), world.event_count("payout.expired")),
        (0, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_32_unclaimed_app_payment_is_returned_and_credited() {
    // Checks: after 30 days the rail gets a recall request. Only its confirmation credits, once, even if the rail also
    // returns the payout.
    let world = Harness::new().await;
    verified(&world, evm(1)).await;
    let id = buy(&world, &to_app(1, "@ada")).await;
    wait_for_status(&world, id, "in-process").await;
    world.payouts.recalls([Err(error(ErrorKind::Unknown, "recall"))]);
    world.clock.advance(120_001);
    wait_for_status(&world, id, "returned").await;
    world.payouts.add_event(id, 2, returned_status());
    world.wait_until_idle().await;
    let heard = async || world.engine.payout(&id).await.unwrap().unwrap().last_sequence == 2;
    eventually("the rail's own word is known", heard).await;
    assert_eq!(balance(&world).await, Usdc::from_atomic(4_250_000));
    assert_eq!(world.event_count("payout.returned"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn recipient_is_saved_at_its_first_payment_and_reused() {
    // Checks: identity comes first. A handle in any case and the id give the same recipient; another wallet's id gives
    // none.
    let world = Harness::new().await;
    let refused = world.pay(&to_app(0, "@ada")).await.unwrap_err();
    assert_eq!(refused, ClaimError::PreconditionFailed(Precondition::IdentityVerified));
    verified(&world, evm(1)).await;
    world
        .payouts
        .set_behaviors(&[IssuerBehavior::Ready, IssuerBehavior::Ready, IssuerBehavior::Ready]);
    buy(&world, &to_app(1, "@ada")).await;
    buy(&world, &to_app(2, "@ADA")).await;
    world.wait_until_idle().await;
    let saved = async || world.engine.recipients_of(&evm(1), None, 10, |_| true).await.unwrap().0;
    let (id, _) = saved().await[0].clone();
    buy(&world, &to_app(3, &id.to_string())).await;
    world.wait_until_idle().await;
    let list = saved().await;
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].1.payments, list[0].1.total), (3, Cents::new(13_50)));
    let last = world.payouts.calls().pop().unwrap();
    assert!(matches!(last.to, PayoutDestination::App { payee, .. } if payee.recipient == "@ADA"));

    verified(&world, evm(2)).await;
    let theirs = PaymentRequest {
        authorization: card_for(evm(2), 9).authorization,
        ..to_app(9, &id.to_string())
    };
    let refused = world.pay(&theirs).await.unwrap_err();
    assert_eq!(refused, ClaimError::PreconditionFailed(Precondition::OwnsRecipient(id)));
    world.engine.delete_recipient(id, None).await.unwrap();
    let refused = world.pay(&to_app(4, &id.to_string())).await.unwrap_err();
    assert_eq!(refused, ClaimError::PreconditionFailed(Precondition::OwnsRecipient(id)));
}

//! What operators do besides orders: stuck work, tokens, and the record of it all.

use purser_actors::card::Status;
use purser_actors::engine::{JobOutcome, JobResolution, OperationError, ResolveError};
use purser_actors::id::{JobId, RequestId};
use purser_actors::operator::{AuditPosition, OperatorAction, OperatorToken, Role};
use purser_actors::port::Clock;
use purser_actors::reconciliation::EntryStatus;

use crate::support::harness::{Harness, bought_card, card_for, evm};
use crate::support::ports::{IssuerBehavior, PaymentBehavior};
use crate::support::{eventually, together};

fn act() -> OperatorAction {
    OperatorAction {
        operator: "ana".into(),
        role: Role::Administrator,
        request_id: RequestId(7),
    }
}

async fn audit_lines(world: &Harness) -> Vec<String> {
    let audits = world.engine.audit_log(None, 100).await.unwrap();
    let mut link = AuditPosition::FIRST;
    for (audit, hash) in &audits {
        assert_eq!((&audit.act, audit.position), (&act(), link), "no gap, and no branch");
        link = AuditPosition {
            sequence: link.sequence + 1,
            previous_hash: *hash,
        };
    }
    audits.iter().map(|(audit, _)| audit.action.clone()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stuck_work_is_listed_and_tried_again_once() {
    // Aim: an issuer that is broken leaves the order stuck, with its work, its card and the last error; twenty operators
    // who retry at once start one try; a try that fails is stuck again; whoever comes when it is done finds nothing; all of it
    // over a crash.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    let stuck = async |world: &Harness| world.engine.dead_letters().await.unwrap().jobs;
    eventually("the order is stuck", async || stuck(&world).await.len() == 1).await;
    let world = world.crash().await;
    let effect = stuck(&world).await.remove(0);
    assert_eq!(
        (effect.job.name(), effect.job.subject()),
        ("issue_card", card.to_string())
    );
    assert!(effect.last_error.as_ref().is_some_and(|error| error.contains("issue")));

    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let calls = world.issuer.calls().len();
    let at_once = together(20, |_| {
        let (engine, id) = (world.engine.clone(), effect.id);
        async move { engine.retry_job(id, &act()).await }
    });
    let told = at_once.await;
    assert!(
        told.iter().all(|t| matches!(
            t,
            Ok(()) | Err(OperationError::Rejected(()) | OperationError::AlreadyUsed)
        )),
        "{told:?}"
    );
    let mut tries = told.iter().filter(|t| t.is_ok()).count();
    // The first of these tries fails; whoever comes after it is right to try again, and then the issuer is well.
    while !world.engine.open_jobs(1).await.unwrap().is_empty() {
        tries += usize::from(world.engine.retry_job(effect.id, &act()).await.is_ok());
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert_eq!(
        (world.issuer.calls().len() - calls, tries),
        (2, 2),
        "a try each, and none beside it"
    );
    assert!(matches!(
        world.engine.card(&card).await.unwrap().unwrap().status,
        Status::Ready(_)
    ));
    assert!(matches!(
        world.engine.retry_job(effect.id, &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    assert!(matches!(
        world.engine.retry_job(JobId(1), &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    let world = world.crash().await;
    assert!(!audit_lines(&world).await.is_empty());
    assert!(audit_lines(&world).await.iter().all(|what| what == "effect.retry"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_payment_in_doubt_is_listed_until_the_chain_has_spoken() {
    // Aim: unknown payments stand beside stuck work, and are not to be retried: they are watched already; and nobody's
    // word stands for what the chain shows.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::NotExecuted);
    let paid = world.pay(&request).await.unwrap();
    let stuck = world.engine.dead_letters().await.unwrap();
    assert_eq!(stuck.jobs.len(), 0);
    assert_eq!(stuck.unknown_payments.len(), 1);
    let doubt = &stuck.unknown_payments[0];
    assert_eq!((doubt.payment, doubt.job.job.name()), (paid.payment, "watch"));
    let told = world.engine.retry_job(doubt.job.id, &act()).await;
    assert!(matches!(told, Err(OperationError::Rejected(()))), "{told:?}");
    for (outcome, refusal) in [
        (
            JobOutcome::NotCompleted,
            ResolveError::Contradicted(EntryStatus::Pending),
        ),
        // There is no list of what the chain shows here.
        (JobOutcome::Completed, ResolveError::Unavailable),
    ] {
        let word = JobResolution {
            outcome,
            reference: "0xabc".into(),
            evidence: "seen".into(),
        };
        let told = world.engine.resolve(doubt.job.id, &word, &act()).await;
        assert_eq!(told, Err(refusal));
    }
    world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    assert_eq!(world.engine.dead_letters().await.unwrap().unknown_payments.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tokens_are_known_by_their_hash_and_names_are_used_once() {
    // Aim: one of many who take a name at once gets it; a revoked token stays known as such, and its name stays taken.
    let world = Harness::new().await;
    // One moment: the clock of these tests goes on by itself.
    let created_at = world.clock.now();
    let token = |name: &str| OperatorToken {
        name: name.into(),
        role: Role::Support,
        created_at,
        revoked: false,
    };
    let at_once = together(20, |n| {
        let (engine, token) = (world.engine.clone(), token("ben"));
        async move { engine.create_operator_token([n; 32], token, &act()).await }
    });
    let told = at_once.await;
    assert_eq!(told.iter().filter(|t| t.is_ok()).count(), 1);
    let hash = [told.iter().position(Result::is_ok).unwrap() as u8; 32];
    assert_eq!(world.engine.operator_token(&hash).await.unwrap(), Some(token("ben")));
    assert_eq!(world.engine.operator_token(&[99; 32]).await.unwrap(), None);
    world.engine.revoke_operator_token("ben", &act()).await.unwrap();
    assert!(matches!(
        world.engine.revoke_operator_token("eva", &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    let taken = token("ben");
    let world = world.crash().await;
    assert!(world.engine.operator_token(&hash).await.unwrap().unwrap().revoked);
    let again = world.engine.create_operator_token([77; 32], taken, &act()).await;
    assert!(matches!(again, Err(OperationError::AlreadyUsed)), "{again:?}");
    assert_eq!(audit_lines(&world).await, ["token.create", "token.revoke"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_froze_an_account_is_written_down_with_it() {
    // Aim: each freeze and thaw that an operator asks for, in order, with the words; pages begin behind a place.
    let world = Harness::new().await;
    let (engine, wallet) = (&world.engine, evm(1));
    for message in [Some("call us"), Some("write to us"), None] {
        engine
            .set_frozen(wallet, message.map(str::to_owned), Some(act()))
            .await
            .unwrap();
    }
    engine
        .set_frozen(wallet, Some("the house itself".into()), None)
        .await
        .unwrap();
    let world = world.crash().await;
    let audits = world.engine.audit_log(None, 100).await.unwrap();
    let told: Vec<_> = audits
        .iter()
        .map(|(a, _)| (a.action.as_str(), a.note.as_deref()))
        .collect();
    let expected = [
        ("account.freeze", Some("call us")),
        ("account.freeze", Some("write to us")),
        ("account.unfreeze", None),
    ];
    assert_eq!(told, expected);
    assert!(audits.iter().all(|(a, _)| a.subject == wallet.address()));
    let rest = world.engine.audit_log(Some(1), 1).await.unwrap();
    assert_eq!(rest, audits[1..2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_operators_who_credit_at_once_credit_once() {
    // Aim: one word is taken, over a crash; whoever comes later, or wants it tried again, finds nothing.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    let stuck = async |world: &Harness| world.engine.dead_letters().await.unwrap().jobs;
    eventually("the order is stuck", async || stuck(&world).await.len() == 1).await;
    let id = stuck(&world).await[0].id;
    let unproven = world.engine.credit_job(id, ("seen", false), &act()).await;
    assert_eq!(unproven, Err(ResolveError::NotProven));
    let at_once = together(20, |_| {
        let engine = world.engine.clone();
        async move { engine.credit_job(id, ("seen", true), &act()).await }
    });
    let told = at_once.await;
    assert_eq!(told.iter().filter(|told| told.is_ok()).count(), 1, "{told:?}");
    let late = |told: &Result<(), ResolveError>| matches!(told, Ok(()) | Err(ResolveError::NotFound));
    assert!(told.iter().all(late), "{told:?}");
    world.wait_until_idle().await;
    let world = world.crash().await;
    world.wait_until_idle().await;
    let failed = world.engine.card(&card).await.unwrap().unwrap();
    assert!(matches!(failed.status, Status::Failed { .. }));
    let account = world.engine.account(&evm(1)).await.unwrap().unwrap();
    assert_eq!(account.balance, failed.charge.charged);
    assert!(matches!(
        world.engine.retry_job(id, &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    assert_eq!(audit_lines(&world).await, ["effect.credit_back"]);
}

//! Operator work besides orders: dead letters, tokens and the audit log.

use purser_actors::engine::{JobOutcome, JobResolution, OperationError, ResolveError};
use purser_actors::entity::card::Status;
use purser_actors::id::{JobId, OperatorSessionId, RequestId};
use purser_actors::kernel::request_context::{self, OperatorAccess};
use purser_actors::operator::{AuditPosition, OperatorAction, OperatorSession, OperatorToken, Role};
use purser_actors::port::{Clock, Timestamp};
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
async fn dead_letter_is_listed_and_retried_once() {
    // Checks: a broken issuer leaves a dead letter with its job, card and last error. Twenty concurrent retries start
    // one attempt, a failed attempt is dead-lettered again, and a retry after completion finds nothing. Includes a
    // crash.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    let dead_lettered = async |world: &Harness| world.engine.dead_letters().await.unwrap().jobs;
    eventually("the order is dead-lettered", async || {
        dead_lettered(&world).await.len() == 1
    })
    .await;
    let world = world.crash().await;
    let outbox_job = dead_lettered(&world).await.remove(0);
    assert_eq!(
        (outbox_job.job.name(), outbox_job.job.subject()),
        ("issue_card", card.to_string())
    );
    assert!(
        outbox_job
            .last_error
            .as_ref()
            .is_some_and(|error| error.contains("issue"))
    );

    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let calls = world.issuer.calls().len();
    let at_once = together(20, |_| {
        let (engine, id) = (world.engine.clone(), outbox_job.id);
        async move { engine.retry_job(id, &act()).await }
    });
    let result = at_once.await;
    assert!(
        result.iter().all(|t| matches!(
            t,
            Ok(()) | Err(OperationError::Rejected(()) | OperationError::AlreadyUsed)
        )),
        "{result:?}"
    );
    let mut tries = result.iter().filter(|t| t.is_ok()).count();
    // The first of these attempts fails. A later retry may start another, and then the issuer works.
    while !world.engine.open_jobs(1).await.unwrap().is_empty() {
        tries += usize::from(world.engine.retry_job(outbox_job.id, &act()).await.is_ok());
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
        world.engine.retry_job(outbox_job.id, &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    assert!(matches!(
        world.engine.retry_job(JobId(1), &act()).await,
        Err(OperationError::AlreadyUsed)
    ));
    let world = world.crash().await;
    assert!(!audit_lines(&world).await.is_empty());
    assert!(audit_lines(&world).await.iter().all(|what| what == "job.retry"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unknown_payment_is_listed_until_the_chain_resolves_it() {
    // Checks: unknown payments are listed beside dead letters and can't be retried, because they are already watched.
    // The chain overrides any operator resolution.
    let world = Harness::new().await;
    let request = card_for(evm(1), 1);
    world
        .chain
        .set_behavior(&request.authorization, PaymentBehavior::NotExecuted);
    let paid = world.pay(&request).await.unwrap();
    let dead_lettered = world.engine.dead_letters().await.unwrap();
    assert_eq!(dead_lettered.jobs.len(), 0);
    assert_eq!(dead_lettered.unknown_payments.len(), 1);
    let doubt = &dead_lettered.unknown_payments[0];
    assert_eq!((doubt.payment, doubt.job.job.name()), (paid.payment, "watch_payment"));
    let result = world.engine.retry_job(doubt.job.id, &act()).await;
    assert!(matches!(result, Err(OperationError::Rejected(()))), "{result:?}");
    for (outcome, refusal) in [
        (
            JobOutcome::NotCompleted,
            ResolveError::Contradicted(EntryStatus::Pending),
        ),
        // No list shows the chain's transfers here.
        (JobOutcome::Completed, ResolveError::Unavailable),
    ] {
        let word = JobResolution {
            outcome,
            reference: "0xabc".into(),
            evidence: "seen".into(),
        };
        let result = world.engine.resolve(doubt.job.id, &word, &act()).await;
        assert_eq!(result, Err(refusal));
    }
    world.chain.settle(&request.authorization);
    world.wait_until_idle().await;
    assert_eq!(world.engine.dead_letters().await.unwrap().unknown_payments.len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tokens_are_found_by_hash_and_names_are_unique() {
    // Checks: of concurrent requests for one name, one succeeds; a revoked token is still known as revoked, and its
    // name stays taken.
    let world = Harness::new().await;
    // Read once, because the clock of these tests advances.
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
    let result = at_once.await;
    assert_eq!(result.iter().filter(|t| t.is_ok()).count(), 1);
    let hash = [result.iter().position(Result::is_ok).unwrap() as u8; 32];
    assert_eq!(world.engine.operator_token(&hash).await.unwrap(), Some(token("ben")));
    assert_eq!(world.engine.operator_token(&[99; 32]).await.unwrap(), None);
    world.engine.revoke_operator_token("ben", &act(), false).await.unwrap();
    assert!(matches!(
        world.engine.revoke_operator_token("eva", &act(), false).await,
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
async fn request_that_waited_while_its_operator_was_ended_does_nothing() {
    // Checks: requests were authenticated with a token or with a session that has ended by the time they act. They commit
    // nothing, neither writes of the engine nor a command of an entity, and are in no audit record. Those of a token in
    // the settings, which has no row, and of the token behind an ended session go on.
    let world = Harness::new().await;
    let engine = &world.engine;
    let token = |name: &str| OperatorToken {
        name: name.into(),
        role: Role::Administrator,
        created_at: Timestamp(0),
        revoked: false,
    };
    for (hash, name) in [([1; 32], "ben"), ([2; 32], "eva")] {
        engine.create_operator_token(hash, token(name), &act()).await.unwrap();
    }
    let session = OperatorSession {
        id: OperatorSessionId(5),
        token: [2; 32],
        passkey: None,
        created_at: Timestamp(0),
        expires_at: world.clock.now().plus_ms(1_000_000_000),
        confirmation: None,
    };
    let opened = engine.open_operator_session(&[5; 32], session, None, &act()).await;
    opened.unwrap();
    let acts = async |access: OperatorAccess, n: u8| {
        let work = async {
            request_context::rely_on_operator(access);
            let made = engine
                .create_operator_token([n; 32], token(&format!("of {n}")), &act())
                .await;
            let frozen = engine.set_frozen(evm(n), Some("call us".into()), Some(act())).await;
            (made.is_ok(), frozen.is_ok())
        };
        request_context::in_request(RequestId(9), work).await
    };
    let access = |token: u8, session: Option<u8>| OperatorAccess {
        token: [token; 32],
        session: session.map(|cookie| [cookie; 32]),
    };
    assert_eq!(acts(access(1, None), 11).await, (true, true));
    assert_eq!(acts(access(2, Some(5)), 12).await, (true, true));
    engine.revoke_operator_token("ben", &act(), false).await.unwrap();
    assert!(engine.end_operator_session(OperatorSessionId(5), &act()).await.unwrap());
    let before = audit_lines(&world).await;
    assert_eq!(acts(access(1, None), 13).await, (false, false));
    assert_eq!(acts(access(2, Some(5)), 14).await, (false, false));
    assert_eq!(audit_lines(&world).await, before);
    for n in [13, 14] {
        assert!(!engine.is_frozen(&evm(n)).await.unwrap());
    }
    assert_eq!(acts(access(2, None), 15).await, (true, true));
    assert_eq!(acts(access(3, None), 16).await, (true, true), "a token of the settings");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn freeze_is_audited_in_the_same_batch() {
    // Checks: each freeze and unfreeze by an operator, in order, with its note; a page starts after a position.
    let world = Harness::new().await;
    let (engine, wallet) = (&world.engine, evm(1));
    for message in [Some("call us"), Some("write to us"), None] {
        engine
            .set_frozen(wallet, message.map(str::to_owned), Some(act()))
            .await
            .unwrap();
    }
    engine
        .set_frozen(wallet, Some("system action".into()), None)
        .await
        .unwrap();
    let world = world.crash().await;
    let audits = world.engine.audit_log(None, 100).await.unwrap();
    let result: Vec<_> = audits
        .iter()
        .map(|(a, _)| (a.action.as_str(), a.note.as_deref()))
        .collect();
    let expected = [
        ("account.freeze", Some("call us")),
        ("account.freeze", Some("write to us")),
        ("account.unfreeze", None),
    ];
    assert_eq!(result, expected);
    assert!(audits.iter().all(|(a, _)| a.subject == wallet.address()));
    let rest = world.engine.audit_log(Some(1), 1).await.unwrap();
    assert_eq!(rest, audits[1..2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn twenty_concurrent_operator_credits_credit_once() {
    // Checks: one credit is accepted, over a crash; a later credit or retry finds nothing.
    let world = Harness::new().await;
    world.issuer.set_behaviors(&[IssuerBehavior::Broken]);
    let card = bought_card(&world.pay(&card_for(evm(1), 1)).await.unwrap());
    let dead_lettered = async |world: &Harness| world.engine.dead_letters().await.unwrap().jobs;
    eventually("the order is dead-lettered", async || {
        dead_lettered(&world).await.len() == 1
    })
    .await;
    let id = dead_lettered(&world).await[0].id;
    let unproven = world.engine.credit_job(id, ("seen", false), &act()).await;
    assert_eq!(unproven, Err(ResolveError::NotProven));
    let at_once = together(20, |_| {
        let engine = world.engine.clone();
        async move { engine.credit_job(id, ("seen", true), &act()).await }
    });
    let result = at_once.await;
    assert_eq!(result.iter().filter(|result| result.is_ok()).count(), 1, "{result:?}");
    let late = |result: &Result<(), ResolveError>| matches!(result, Ok(()) | Err(ResolveError::NotFound));
    assert!(result.iter().all(late), "{result:?}");
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
    assert_eq!(audit_lines(&world).await, ["job.credit"]);
}

//! Endpoints and deliveries: every command in every state, and the transitions.

use purser_actors::entity::webhook::{
    self, EndpointHealth, FailureThresholds, Rejection, WebhookEndpoint, matches_filter,
};
use purser_actors::entity::webhook_delivery::{
    self as delivery, AttemptResult, DeliveryAttempt, WebhookDelivery, WebhookMessage,
};
use purser_actors::id::{EventId, WebhookDeliveryId, WebhookId};
use purser_actors::kernel::{Decision, Entity, StateMachine, to_json};
use purser_actors::port::Timestamp;
use purser_storage::Write;

use crate::fixtures::{JOB, NOW, WALLET, at, event_names, fold, job_names, status};
use crate::transitions::assert_chart;

const ENDPOINT: WebhookId = WebhookId(31);
const DELIVERY: WebhookDeliveryId = WebhookDeliveryId(32);
const HOUR_MS: u64 = 3_600_000;
const THRESHOLDS: FailureThresholds = FailureThresholds {
    warn_ms: 24 * HOUR_MS,
    disable_ms: 120 * HOUR_MS,
};

const ENDPOINTS: &str = "
          -                    active                  disabled                        deleted
register  Registered+TestSent  SecretRotated+TestSent  SecretRotated+Enabled+TestSent  !
answered  !                    Recovered               .                               .
failed    !                    Failing                 .                               .
gone      !                    Failing+Disabled        .                               .
resend    !                    RedeliveryRequested     !                               !
resent    !                    .                       .                               .
delete    !                    Deleted                 Deleted                         !
";

const DELIVERIES: &str = "
            -        pending        delivered  failed    dropped
open        Created  .              .          .         .
again       !        Reopened       Reopened   Reopened  Reopened
missed-out  !        .              .          Reopened  Reopened
delivered   !        Delivered      .          .         .
retried     !        AttemptFailed  .          .         .
over        !        Failed         .          .         .
late-over   !        AttemptFailed  .          .         .
later       !        .              .          .         .
drop        !        Dropped        .          .         .
late-drop   !        .              .          .         .
";

fn register(record: u128) -> webhook::Command {
    webhook::Command::Register {
        owner: WALLET,
        url: "https://example.com/hook".into(),
        types: vec!["card.*".into()],
        record,
        sealed: vec![1, 2, 3],
        overlap_ms: 24 * HOUR_MS,
        session: purser_actors::id::SessionId(record),
    }
}

const fn failed(gone: bool) -> webhook::Command {
    webhook::Command::RecordFailure {
        gone,
        thresholds: THRESHOLDS,
    }
}

fn endpoint_commands() -> Vec<(&'static str, webhook::Command)> {
    use webhook::Command;
    vec![
        ("register", register(9)),
        ("answered", Command::RecordSuccess),
        ("failed", failed(false)),
        ("gone", failed(true)),
        (
            "resend",
            Command::RequestRedelivery {
                since: NOW,
                upto: 5,
                by: None,
            },
        ),
        ("resent", Command::RecordRedelivered { job: JOB }),
        ("delete", Command::Delete),
    ]
}

fn endpoint_events() -> Vec<webhook::Event> {
    use webhook::Event;
    vec![
        Event::Registered {
            owner: WALLET,
            url: "https://example.com/hook".into(),
            types: Vec::new(),
            record: 1,
            session: purser_actors::id::SessionId(1),
            at: NOW,
        },
        Event::SecretRotated {
            types: Vec::new(),
            record: 2,
            until: NOW.plus_ms(HOUR_MS),
            session: purser_actors::id::SessionId(2),
            at: NOW,
        },
        Event::Enabled(NOW),
        Event::TestSent(NOW),
        Event::Recovered(true, NOW),
        Event::Failing(NOW),
        Event::OwnerWarned(NOW),
        Event::Disabled(webhook::DisabledReason::Gone, NOW),
        Event::Deleted(NOW),
        Event::RedeliveryRequested(NOW),
    ]
}

fn endpoints() -> Vec<WebhookEndpoint> {
    let events = endpoint_events();
    let active: WebhookEndpoint = fold(None, &ENDPOINT, &events[..1]);
    let disabled = fold(Some(active.clone()), &ENDPOINT, &events[7..8]);
    let deleted = fold(Some(active.clone()), &ENDPOINT, &events[8..9]);
    vec![active, disabled, deleted]
}

fn attempt(status: u16) -> DeliveryAttempt {
    DeliveryAttempt {
        at: NOW,
        took_ms: 7,
        status: Some(status),
        error: None,
        excerpt: Some("ok".into()),
    }
}

fn message() -> WebhookMessage {
    WebhookMessage {
        endpoint: ENDPOINT,
        event: EventId(33),
        kind: "card.ready".into(),
        seq: 8,
        happened_at: NOW,
    }
}

fn record_attempt(round: u32, status: u16, verdict: AttemptResult) -> delivery::Command {
    delivery::Command::RecordAttempt {
        job: JOB,
        round,
        attempt: attempt(status),
        verdict,
    }
}

fn delivery_commands() -> Vec<(&'static str, delivery::Command)> {
    use delivery::{Command, DroppedReason};
    let (owner, letter, effect) = (WALLET, message(), JOB);
    let again = AttemptResult::Retry(NOW.plus_ms(5_000));
    let dropped = |round| Command::Drop {
        job: effect,
        round,
        reason: DroppedReason::Disabled,
    };
    vec![
        ("open", Command::Create { owner, message: letter }),
        ("again", Command::Redeliver { force: true, by: None }),
        ("missed-out", Command::Redeliver { force: false, by: None }),
        ("delivered", record_attempt(1, 204, AttemptResult::Delivered)),
        ("retried", record_attempt(1, 500, again)),
        ("over", record_attempt(1, 500, AttemptResult::GiveUp)),
        ("late-over", record_attempt(0, 500, AttemptResult::GiveUp)),
        (
            "later",
            Command::Defer {
                job: effect,
                round: 1,
                at: NOW,
            },
        ),
        ("drop", dropped(1)),
        ("late-drop", dropped(0)),
    ]
}

fn delivery_events() -> Vec<delivery::Event> {
    use delivery::{DroppedReason, Event};
    vec![
        Event::Created {
            owner: WALLET,
            message: message(),
            at: NOW,
        },
        Event::Reopened(NOW),
        Event::Delivered(attempt(200)),
        Event::AttemptFailed(attempt(500), Some(NOW)),
        Event::AttemptFailed(attempt(500), None),
        Event::Failed(attempt(500)),
        Event::Dropped(DroppedReason::Deleted, NOW),
    ]
}

fn deliveries() -> Vec<WebhookDelivery> {
    let events = delivery_events();
    let pending: WebhookDelivery = fold(None, &DELIVERY, &events[..1]);
    let ended = |n: usize| fold(Some(pending.clone()), &DELIVERY, &events[n..=n]);
    vec![pending.clone(), ended(2), ended(5), ended(6)]
}

/// Compares one table: a column per state, a line per command. `.` is no visible change for the owner, `!` a rejection.
fn check<E: Entity>(
    table: &str,
    id: &E::Id,
    states: Vec<E>,
    commands: impl IntoIterator<Item = (&'static str, E::Command)>,
) where
    E::Command: Clone,
{
    let states: Vec<Option<E>> = std::iter::once(None).chain(states.into_iter().map(Some)).collect();
    let mut lines = table.lines().filter(|line| !line.is_empty());
    let header: Vec<_> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(header, states.iter().map(|s| status(s.as_ref())).collect::<Vec<_>>());
    let commands: Vec<_> = commands.into_iter().collect();
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines.len(), commands.len());
    for ((name, command), line) in commands.into_iter().zip(lines) {
        let cells: Vec<_> = line.split_whitespace().collect();
        assert_eq!(cells[0], name);
        for (state, expected) in states.iter().zip(&cells[1..]) {
            let met = status(state.as_ref());
            let found = match E::decide(state.as_ref(), id, command.clone(), &at(NOW)) {
                Err(_) => "!".to_owned(),
                Ok(decision) => outcome_text(&decision),
            };
            assert_eq!(found, *expected, "{name} in {met}");
        }
    }
}

/// Events of a decision, or its jobs if it has none.
fn outcome_text<E: Entity>(decision: &Decision<E>) -> String {
    match (event_names(decision).as_str(), job_names(decision).as_slice()) {
        ("=", []) => ".".into(),
        ("=", works) => works.join("+"),
        (events, _) => events.to_owned(),
    }
}

#[test]
fn every_command_in_every_endpoint_state_matches_the_table() {
    // Checks: a disabled endpoint is enabled only by its URL, a deleted one never.
    check(ENDPOINTS, &ENDPOINT, endpoints(), endpoint_commands());
    assert_chart(&ENDPOINT, endpoints(), &endpoint_events());
    let deleted = endpoints().pop();
    let again = WebhookEndpoint::decide(deleted.as_ref(), &ENDPOINT, register(4), &at(NOW));
    assert_eq!(again.map(drop), Err(Rejection::InvalidState("deleted")));
}

#[test]
fn every_command_in_every_delivery_state_matches_the_table() {
    // Checks: it is opened once, every attempt ends its job, a past round changes nothing, and any ended delivery can
    // be redelivered.
    check(DELIVERIES, &DELIVERY, deliveries(), delivery_commands());
    assert_chart(&DELIVERY, deliveries(), &delivery_events());
}

/// The endpoint after a decision.
fn after(
    endpoint: Option<WebhookEndpoint>,
    command: webhook::Command,
    now: Timestamp,
) -> (WebhookEndpoint, Decision<WebhookEndpoint>) {
    let decision = WebhookEndpoint::decide(endpoint.as_ref(), &ENDPOINT, command, &at(now)).unwrap();
    (fold(endpoint, &ENDPOINT, decision.events()), decision)
}

fn signing(endpoint: &WebhookEndpoint, now: Timestamp) -> Vec<u128> {
    endpoint.signing(now).map(|secret| secret.record).collect()
}

#[test]
fn case_62_replaced_secret_signs_for_a_day_and_is_deleted() {
    // Checks: the new secret first, each older one for 24 hours from its replacement and no longer. Expired rows are
    // deleted by the next registration, all rows with the endpoint.
    let (first, _) = after(None, register(1), NOW);
    let (second, _) = after(Some(first), register(2), NOW);
    let noon = NOW.plus_ms(12 * HOUR_MS);
    let (third, _) = after(Some(second.clone()), register(3), noon);
    let day = NOW.plus_ms(24 * HOUR_MS);
    assert_eq!(signing(&second, Timestamp(day.0 - 1)), [2, 1]);
    assert_eq!(signing(&second, day), [2]);
    assert_eq!(signing(&third, Timestamp(day.0 - 1)), [3, 2, 1]);
    assert_eq!(signing(&third, day), [3, 2]);
    assert_eq!(signing(&third, day.plus_ms(12 * HOUR_MS)), [3]);
    let (fourth, decision) = after(Some(third), register(4), day);
    assert_eq!(signing(&fourth, day), [4, 3, 2]);
    let taken = |decision: &Decision<WebhookEndpoint>| {
        decision
            .writes()
            .iter()
            .filter(|w| matches!(w, Write::Delete { .. }))
            .count()
    };
    assert_eq!(taken(&decision), 1, "the first one's row");
    let (_, deleted) = after(Some(fourth), webhook::Command::Delete, day);
    assert_eq!(taken(&deleted), 4, "three secrets and the row of its URL");
}

#[test]
fn number_of_secrets_is_bounded_over_registrations() {
    // Checks: the oldest secret ends early, with its row.
    let mut endpoint = after(None, register(0), NOW).0;
    for n in 1..40 {
        endpoint = after(Some(endpoint), register(n), NOW).0;
        assert!(endpoint.secrets.len() <= WebhookEndpoint::MAX_SECRETS);
    }
    assert_eq!(signing(&endpoint, NOW), (32..40).rev().collect::<Vec<_>>());
}

#[test]
fn failing_endpoint_is_warned_about_and_then_disabled() {
    // Checks: the owner is warned once after a day, the endpoint disabled after five, never without a warning; one
    // success starts anew.
    let (endpoint, _) = after(None, register(1), NOW);
    let (failing, first) = after(Some(endpoint), failed(false), NOW);
    assert_eq!(event_names(&first), "Failing");
    let at_hour = |hour: u64| NOW.plus_ms(hour * HOUR_MS);
    let (_, quiet) = after(Some(failing.clone()), failed(false), Timestamp(at_hour(24).0 - 1));
    assert!(quiet.events().is_empty());
    let (warned, decision) = after(Some(failing.clone()), failed(false), at_hour(24));
    assert_eq!(event_names(&decision), "OwnerWarned");
    let (_, again) = after(Some(warned.clone()), failed(false), at_hour(119));
    assert!(again.events().is_empty());
    let (disabled, over) = after(Some(warned.clone()), failed(false), at_hour(120));
    assert_eq!(
        (event_names(&over).as_str(), disabled.status()),
        ("Disabled", "disabled")
    );
    let (_, both) = after(Some(failing.clone()), failed(false), at_hour(500));
    assert_eq!(event_names(&both), "OwnerWarned+Disabled");
    let (well, recovered) = after(Some(warned), webhook::Command::RecordSuccess, at_hour(119));
    assert_eq!(
        (recovered.events()[0].clone(), well.health),
        (webhook::Event::Recovered(true, at_hour(119)), EndpointHealth::Healthy)
    );
    assert_eq!(
        WebhookEndpoint::event_name(&webhook::Event::Recovered(true, NOW)),
        Some("recovered")
    );
    assert_eq!(
        WebhookEndpoint::event_name(&webhook::Event::Recovered(false, NOW)),
        None
    );
    let (back, _) = after(Some(disabled), register(2), at_hour(121));
    assert!(!back.matches("card.ready", at_hour(120)) && back.matches("card.ready", at_hour(121)));
}

#[test]
fn late_success_of_an_earlier_round_counts() {
    // Checks: the receiver has the message; the rest of the later round ends without an event.
    let pending: WebhookDelivery = fold(None, &DELIVERY, &delivery_events()[..2]);
    assert_eq!(pending.redelivery_count, 2);
    let decision = WebhookDelivery::decide(
        Some(&pending),
        &DELIVERY,
        record_attempt(1, 200, AttemptResult::Delivered),
        &at(NOW),
    )
    .unwrap();
    let delivered = fold(Some(pending), &DELIVERY, decision.events());
    assert_eq!((delivered.status(), delivered.attempt_count), ("delivered", 1));
    let rest = WebhookDelivery::decide(
        Some(&delivered),
        &DELIVERY,
        record_attempt(2, 500, AttemptResult::GiveUp),
        &at(NOW),
    )
    .unwrap();
    assert!(rest.events().is_empty() && rest.writes().len() == 1);
}

#[test]
fn delivery_row_size_is_bounded() {
    // Checks: for any number of redeliveries, the last ten attempts and the total count are kept.
    let mut delivery: WebhookDelivery = fold(None, &DELIVERY, &delivery_events()[..1]);
    for _ in 0..50 {
        delivery = fold(
            Some(delivery),
            &DELIVERY,
            &[delivery::Event::Failed(attempt(500)), delivery::Event::Reopened(NOW)],
        );
    }
    assert_eq!(
        (
            delivery.attempts.len(),
            delivery.attempt_count,
            delivery.redelivery_count
        ),
        (10, 50, 51)
    );
    let json: serde_json::Value = serde_json::from_str(&to_json(&delivery.view(&DELIVERY))).unwrap();
    assert_eq!(
        (&json["status"], &json["attempt_count"]),
        (&"pending".into(), &50.into())
    );
    assert_eq!(json["attempts"][0]["response_excerpt"], "ok");
}

#[test]
fn filter_matches_types_by_name_or_resource() {
    // Checks: the same rule as the stream's filters.
    let types = |list: &[&str]| list.iter().map(|t| (*t).to_owned()).collect::<Vec<_>>();
    assert!(matches_filter(&[], "card.ready") && matches_filter(&types(&["card.*"]), "card.ready"));
    assert!(matches_filter(&types(&["a.b", "card.ready"]), "card.ready"));
    assert!(
        !matches_filter(&types(&["card.closed"]), "card.ready") && !matches_filter(&types(&["card"]), "card.ready")
    );
    let view = to_json(&endpoints()[0].view(&ENDPOINT));
    assert!(!view.contains("secret"), "{view}");
}

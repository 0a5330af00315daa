//! Charts match the state machines: `apply` makes every transition of the chart and no other.

use std::collections::BTreeSet;

use purser_actors::entity::PurchasedProduct;
use purser_actors::entity::account::{self, CreditCause};
use purser_actors::entity::card::lifecycle::CardUpdate;
use purser_actors::entity::card::{self, Card};
use purser_actors::entity::identity_verification::IdentityVerification;
use purser_actors::entity::intl_order::IntlOrder;
use purser_actors::entity::issuer_link::IssuerLink;
use purser_actors::entity::payment::{self, Payment, Resolution};
use purser_actors::entity::session::{self, AuthMethod, PasskeyConfirmation, RevocationReason, Session};
use purser_actors::entity::top_up::TopUp;
use purser_actors::entity::withdrawal::{self, Withdrawal};
use purser_actors::id::{OutgoingTransferId, PasskeyId, SessionId};
use purser_actors::kernel::{Entity, to_json};
use purser_actors::money::Usdc;
use purser_actors::port::{CardAction, CardState, ChargeChange};

use crate::cards::card_snapshot;
use crate::fixtures::{
    CAP_RESERVATION, CARD, CARD_SEQUENCE, NOW, PAYMENT, TOP_UP, WALLET, WITHDRAWAL, accounts, at, cards, claim,
    decline, details, fold, outgoing, payments, prepared, status, transaction, withdrawals,
};
use crate::identity::{identities, identity_commands, identity_events, link_commands, link_events, links};
use crate::intl_orders::{self, orders};

pub(crate) type Transitions = BTreeSet<(&'static str, &'static str)>;

/// Changes of state that the chart lists.
pub(crate) fn listed<E: Entity>() -> Transitions {
    let moves = E::CHART.transitions().map(|step| (step.from, step.to));
    moves.filter(|(from, to)| from != to).collect()
}

/// For one entity: `apply`, over every event in every state, accepts nothing that is not in the chart, and makes each
/// change of state that is.
pub(crate) fn assert_chart<E: Entity>(id: &E::Id, states: Vec<E>, events: &[E::Event]) {
    let listed: BTreeSet<_> = E::CHART
        .transitions()
        .map(|step| (step.event, step.from, step.to))
        .collect();
    let mut made = BTreeSet::new();
    for state in std::iter::once(None).chain(states.into_iter().map(Some)) {
        for event in events {
            let from = status(state.as_ref());
            let name = E::CHART.events[E::event_number(event)].variant;
            match E::apply(state.clone(), id, event) {
                Ok(after) => {
                    let step = (name, from, after.status());
                    assert!(listed.contains(&step), "{step:?} is not in the chart");
                    made.insert(step);
                }
                Err(broken) => assert_eq!(broken.status, from),
            }
        }
    }
    let changes =
        |steps: BTreeSet<_>| -> BTreeSet<_> { steps.into_iter().filter(|(_, from, to)| from != to).collect() };
    assert_eq!(changes(made), changes(listed));
}

fn payment_events() -> Vec<payment::Event> {
    use payment::Event;
    vec![
        Event::Claimed(Box::new(claim())),
        Event::Adopted(Box::new(claim()), transaction(), PurchasedProduct::Card(CARD)),
        Event::Settling(prepared(), NOW),
        Event::BecameUnknown(NOW),
        Event::Declined(decline(), NOW),
        Event::Released(NOW),
        Event::Readmitted(CAP_RESERVATION, crate::fixtures::session(), NOW),
        Event::Resumed(crate::fixtures::session(), NOW),
        Event::Settled(transaction(), NOW),
        Event::Fulfilled(PurchasedProduct::Card(CARD), NOW),
        Event::Credited(NOW),
        Event::CreditedAfterRestore("tx".into(), NOW),
        Event::Refused(NOW),
        Event::Reversed(NOW),
        Event::Resolved(transaction(), Resolution::Returned, NOW),
        Event::DeclinedUnsent(decline(), NOW),
        Event::ClaimedPrepared(Box::new(claim()), prepared()),
    ]
}

/// Every update of an issued card.
pub(crate) fn every_card_update() -> Vec<CardUpdate> {
    let snapshot = card_snapshot(CARD_SEQUENCE + 1, CardState::Open, 0);
    vec![
        CardUpdate::Paused(snapshot.clone()),
        CardUpdate::Resumed(snapshot.clone()),
        CardUpdate::Closed(snapshot.clone()),
        CardUpdate::Charged(snapshot.clone(), Some(ChargeChange::Charged)),
        CardUpdate::Released(snapshot),
    ]
}

fn card_events() -> Vec<card::Event> {
    use card::Event;
    let amount = cards()[0].amount;
    let charge = cards()[0].charge;
    vec![
        Event::Ordered {
            owner: WALLET,
            amount,
            charge,
            at: NOW,
        },
        Event::Issued(details(), NOW),
        Event::Declined("no".into(), NOW),
        Event::Revealed(NOW),
        Event::RefreshRequested(NOW),
        Event::Refreshed(NOW),
        Event::ActionRequested(CardAction::Pause, NOW),
        Event::ActionCompleted(NOW),
        Event::Expired(NOW),
        Event::RemainderRetained(Usdc::from_atomic(1), NOW),
    ]
    .into_iter()
    .chain(every_card_update().into_iter().map(|news| Event::Updated(news, NOW)))
    .collect()
}

fn account_events() -> Vec<account::Event> {
    use account::Event;
    vec![
        Event::Opened(NOW),
        Event::CapReserved(CAP_RESERVATION),
        Event::CapReleased(CAP_RESERVATION),
        Event::Credited {
            amount: Usdc::from_atomic(1),
            cause: CreditCause::Payment(PAYMENT),
        },
        Event::Frozen("call us".into()),
        Event::Unfrozen,
        Event::CapsChanged(account::OwnerCaps::default()),
        Event::BalanceLimitsChanged(account::BalanceLimits::default()),
        Event::Held(Usdc::from_atomic(1), WITHDRAWAL),
        Event::Withdrawn(Usdc::from_atomic(1), WITHDRAWAL),
        Event::Released(Usdc::from_atomic(1), WITHDRAWAL),
        Event::TransferAttributed(Usdc::from_atomic(1), OutgoingTransferId(1)),
        Event::AgentsStopped(NOW),
        Event::AgentsResumed,
    ]
}

fn withdrawal_events() -> Vec<withdrawal::Event> {
    use withdrawal::Event;
    vec![
        Event::Requested {
            owner: WALLET,
            to: WALLET,
            amount: Usdc::from_atomic(1),
            at: NOW,
        },
        Event::Signed(Box::new(outgoing()), NOW),
        Event::Confirmed(transaction(), NOW),
        Event::Failed("expired".into(), NOW),
    ]
}

fn session_events() -> Vec<session::Event> {
    use session::Event;
    vec![
        Event::Opened {
            owner: WALLET,
            amr: AuthMethod::Wallet,
            created_by: None,
            presented_key: None,
            at: NOW,
            life_ms: 1_000,
            first: [1; 32],
        },
        Event::Refreshed { next: [2; 32], at: NOW },
        Event::Revoked(RevocationReason::Owner),
        Event::Revoked(RevocationReason::Reuse),
        Event::Confirmed(PasskeyConfirmation {
            passkey: PasskeyId(4),
            until: NOW,
        }),
    ]
}

fn sessions() -> Vec<Session> {
    let active: Session = fold(None, &SessionId(1), &session_events()[..1]);
    let revoked = fold(Some(active.clone()), &SessionId(1), &session_events()[2..3]);
    vec![active, revoked]
}

#[test]
fn charts_list_exactly_what_apply_accepts() {
    // Checks: state × event, exhaustively, for each entity.
    assert_chart(&PAYMENT, payments(), &payment_events());
    assert_chart(&CARD, cards(), &card_events());
    assert_chart(&CARD, orders(), &intl_orders::events());
    assert_chart(&WALLET, accounts(), &account_events());
    assert_chart(&WITHDRAWAL, withdrawals(), &withdrawal_events());
    let states = crate::top_ups::top_ups().into_iter().chain(crate::top_ups::forwarded());
    assert_chart(&TOP_UP, states.collect(), &crate::top_ups::events());
    assert_chart(&SessionId(1), sessions(), &session_events());
    assert_chart(&WALLET, identities(), &identity_events());
    assert_chart(&WALLET, links(), &link_events());
}

#[test]
fn every_listed_transition_is_reached_by_a_command() {
    // Checks: from the first event on, commands alone lead through all transitions and no other.
    let claimed = fold::<Payment>(None, &PAYMENT, &payment_events()[..1]);
    let (_, adopted) = Payment::adopt(PAYMENT, claim(), ("0xadopted", PurchasedProduct::Card(CARD)), &at(NOW)).unwrap();
    let sendable = payment::Event::ClaimedPrepared(Box::new(claim()), prepared());
    let sendable = fold::<Payment>(None, &PAYMENT, &[sendable]);
    let first = [claimed, adopted, sendable];
    let mut moves: Transitions = first.iter().map(|state| ("-", state.status())).collect();
    let mut open = Vec::from(first);
    let mut met: Vec<Payment> = Vec::new();
    while let Some(state) = open.pop() {
        if met.iter().any(|m| m.status() == state.status()) {
            continue;
        }
        for name in crate::payments::command_names() {
            let command = crate::payments::command(name);
            let Ok(decision) = Payment::decide(Some(&state), &PAYMENT, command, &at(NOW)) else {
                continue;
            };
            let mut now = state.clone();
            for event in decision.events() {
                let after = Payment::apply(Some(now.clone()), &PAYMENT, event).unwrap();
                moves.insert((now.status(), after.status()));
                now = after;
            }
            open.push(now);
        }
        met.push(state);
    }
    assert_eq!(moves, listed::<Payment>());

    let card = ordered("pending", &CARD, cards(), crate::cards::commands);
    assert_eq!(card, listed::<Card>());
    let order = ordered("queued", &CARD, orders(), intl_orders::commands);
    assert_eq!(order, listed::<IntlOrder>());
    let identity = commanded(&WALLET, identities(), identity_commands());
    assert_eq!(identity, listed::<IdentityVerification>());
    assert_eq!(commanded(&WALLET, links(), link_commands()), listed::<IssuerLink>());
    let withdrawal = ordered("pending", &WITHDRAWAL, withdrawals(), crate::withdrawals::commands);
    assert_eq!(withdrawal, listed::<Withdrawal>());
    let top_ups = [crate::top_ups::top_ups(), crate::top_ups::forwarded()].concat();
    let top_up = ordered("paid", &TOP_UP, top_ups, crate::top_ups::commands);
    assert_eq!(top_up, listed::<TopUp>());
}

/// Transitions of an entity that another one opens and commands continue.
fn ordered<E: Entity + Clone, N>(
    first: &'static str,
    id: &E::Id,
    states: Vec<E>,
    commands: impl Fn() -> Vec<(N, E::Command)>,
) -> Transitions {
    let mut moves = Transitions::from([("-", first)]);
    for state in states {
        for (_, command) in commands() {
            let Ok(decision) = E::decide(Some(&state), id, command, &at(NOW)) else {
                continue;
            };
            if !decision.events().is_empty() {
                let after: E = fold(Some(state.clone()), id, decision.events());
                moves.insert((state.status(), after.status()));
            }
        }
    }
    moves.retain(|(from, to)| from != to);
    moves
}

/// Transitions that commands cause.
pub(crate) fn commanded<E: Entity>(id: &E::Id, states: Vec<E>, commands: Vec<(&str, E::Command)>) -> Transitions
where
    E::Command: Clone,
{
    let mut moves = Transitions::new();
    for state in std::iter::once(None).chain(states.into_iter().map(Some)) {
        for (_, command) in &commands {
            let Ok(decision) = E::decide(state.as_ref(), id, command.clone(), &at(NOW)) else {
                continue;
            };
            if !decision.events().is_empty() {
                let after = fold(state.clone(), id, decision.events());
                moves.insert((status(state.as_ref()), after.status()));
            }
        }
    }
    moves.retain(|(from, to)| from != to);
    moves
}

#[test]
fn views_of_every_state_are_json_with_its_status() {
    // Checks: in every state, the owner's view is valid JSON with that status.
    fn shown<E: Entity>(id: &E::Id, states: Vec<E>) {
        for state in states {
            let json: serde_json::Value = serde_json::from_str(&to_json(&state.view(id))).unwrap();
            let shown = json.get("status").or_else(|| json.get("state"));
            assert_eq!(shown.unwrap(), state.status());
        }
    }
    shown(&PAYMENT, payments());
    shown(&CARD, cards());
    shown(&CARD, orders());
    shown(&WALLET, accounts());
    shown(&SessionId(1), sessions());
    shown(&WALLET, identities());
    shown(&WALLET, links());
    shown(&WITHDRAWAL, withdrawals());
    shown(&TOP_UP, crate::top_ups::top_ups());
}

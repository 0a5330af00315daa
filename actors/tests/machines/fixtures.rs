//! Shared fixtures of the tables: one entity in every state.

use purser_actors::entity::account::CapReservation;
use purser_actors::entity::account::{Account, ClaimRequest};
use purser_actors::entity::card::lifecycle::CardLifecycle;
use purser_actors::entity::card::{Card, CardDetails, CardPurchase};
use purser_actors::entity::payment::{Claim, Payment, Resolution, ResolvedPreconditions, SessionSeed, Status};
use purser_actors::entity::withdrawal::{SignedTransfer, Withdrawal};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{CardId, JobId, PaymentId, RequestId, SessionId, ShardId, TopUpId, Wallet, WithdrawalId};
use purser_actors::kernel::{Context, Decision, Entity};
use purser_actors::ledger::Charge;
use purser_actors::money::{Cents, Usdc};
use purser_actors::operator::{AuditPosition, AuditedAction, OperatorAction, Role};
use purser_actors::port::{
    Authorization, CardAction, Decline, EvmAuthorization, IssuedCard, PreparedTransaction, Timestamp,
};
use purser_actors::product::{DailyCap, ProductLine};

pub(crate) const WALLET: Wallet = Wallet::Evm([1; 20]);
pub(crate) const PAYMENT: PaymentId = PaymentId(11);
pub(crate) const CARD: CardId = CardId(12);
pub(crate) const WITHDRAWAL: WithdrawalId = WithdrawalId(15);
pub(crate) const TOP_UP: TopUpId = TopUpId(16);
pub(crate) const JOB: JobId = JobId(13);
pub(crate) const DAY: u32 = 20_000;
pub(crate) const DAY_MS: u64 = 86_400_000;
pub(crate) const NOW: Timestamp = Timestamp(DAY as u64 * DAY_MS + 1_000);
pub(crate) fn operator() -> AuditedAction {
    let act = OperatorAction {
        operator: "ana".into(),
        role: Role::Operator,
        request_id: RequestId::NONE,
    };
    AuditedAction {
        act,
        position: AuditPosition::FIRST,
        extras: Box::default(),
    }
}

/// Cap reservation of a purchase of 5.00.
pub(crate) const CAP_RESERVATION: CapReservation = CapReservation {
    day: DAY,
    cap_group: ProductLine::UsaCard,
    cents: Cents::new(5_00),
};

pub(crate) const fn at(now: Timestamp) -> Context {
    Context::new(now, 77, ShardId::of_id(0))
}

pub(crate) fn authorization() -> Authorization {
    Authorization::Evm(EvmAuthorization {
        from: [1; 20],
        to: [2; 20],
        value: Usdc::from_atomic(5_100_000),
        valid_after: 0,
        valid_before: u64::MAX,
        nonce: [3; 32],
        signature: [4; 65].into(),
    })
}

pub(crate) const fn session() -> SessionSeed {
    SessionSeed {
        id: SessionId(14),
        first: [6; 32],
        life_ms: 1_000_000,
        presented_key: None,
    }
}

pub(crate) const fn five_dollar_card() -> Purchase {
    Purchase::UsaCard(CardPurchase {
        amount: Cents::new(5_00),
    })
}

pub(crate) fn claim() -> Claim {
    Claim {
        account: authorization().payer(),
        authorization: authorization(),
        purchase: five_dollar_card(),
        worth: Cents::new(5_00),
        resolved: ResolvedPreconditions::None,
        request: [5; 32],
        session: session(),
        cap_reservation: CAP_RESERVATION,
        at: NOW,
    }
}

pub(crate) fn claim_request(amount: Cents, cap: DailyCap) -> Box<ClaimRequest> {
    Box::new(ClaimRequest {
        payment: PAYMENT,
        authorization: authorization(),
        purchase: Purchase::UsaCard(CardPurchase { amount }),
        worth: amount,
        resolved: ResolvedPreconditions::None,
        request: [5; 32],
        session: session(),
        cap: Some(cap),
        challenge: None,
        counted: None,
        prepared: None,
    })
}

pub(crate) fn decline() -> Decline {
    Decline {
        reason: "insufficient_funds".into(),
        message: "the wallet is empty".into(),
    }
}

pub(crate) fn prepared() -> PreparedTransaction {
    PreparedTransaction {
        bytes: vec![1, 2, 3],
        transaction: String::new(),
    }
}

pub(crate) fn transaction() -> String {
    "0xabc".into()
}

pub(crate) fn payment(status: Status) -> Payment {
    Payment {
        claim: claim(),
        updated_at: NOW,
        status,
    }
}

/// A payment in every state.
pub(crate) fn payments() -> Vec<Payment> {
    let transaction = transaction();
    vec![
        payment(Status::Claimed),
        payment(Status::Settling(prepared())),
        payment(Status::Unknown(prepared())),
        payment(Status::Declined(decline(), prepared())),
        payment(Status::Released),
        payment(Status::Settled {
            transaction: transaction.clone(),
        }),
        payment(Status::Fulfilled {
            transaction: transaction.clone(),
            product: PurchasedProduct::Card(CARD),
        }),
        payment(Status::Credited { transaction }),
        payment(Status::Refused(decline())),
        payment(Status::Reversed {
            transaction: self::transaction(),
            product: Some(PurchasedProduct::Card(CARD)),
        }),
        payment(Status::Resolved {
            transaction: self::transaction(),
            resolution: Resolution::Forwarded,
        }),
        payment(Status::DeclinedUnsent(decline())),
    ]
}

pub(crate) fn details() -> CardDetails {
    CardDetails {
        issuer_ref: "ref".into(),
        last4: "4242".into(),
        exp_month: 12,
        exp_year: 2031,
    }
}

pub(crate) fn issued() -> IssuedCard {
    IssuedCard {
        issuer_ref: "ref".into(),
        last4: "4242".into(),
        exp_month: 12,
        exp_year: 2031,
        sealed: vec![9; 40],
    }
}

/// 5.10 USDC, of which 5.00 is the card's amount.
pub(crate) fn charge() -> Charge {
    Charge::new(PAYMENT, Usdc::from_atomic(5_100_000), Usdc::from_atomic(5_000_000))
}

/// Sequence number of the newest event of each card of [`cards`].
pub(crate) const CARD_SEQUENCE: u64 = 4;

/// A card in every state; usable with a pending action, and closed before the action had a result.
pub(crate) fn cards() -> Vec<Card> {
    use purser_actors::entity::card::Status;
    let card = |action, status| Card {
        owner: WALLET,
        charge: charge(),
        amount: Cents::new(5_00),
        created_at: NOW,
        updated_at: NOW,
        status,
        refreshes: Vec::new(),
        refreshing: false,
        lifecycle: CardLifecycle {
            pending_action: action,
            sequence: CARD_SEQUENCE,
            ..CardLifecycle::activated(Cents::new(5_00), NOW)
        },
    };
    vec![
        card(None, Status::Pending),
        card(None, Status::Ready(details())),
        card(None, Status::Failed { reason: "no".into() }),
        card(None, Status::Closed(details())),
        card(None, Status::Expired(details())),
        card(None, Status::Paused(details())),
        card(Some(CardAction::Pause), Status::Ready(details())),
        card(Some(CardAction::Close), Status::Closed(details())),
    ]
}

pub(crate) fn outgoing() -> SignedTransfer {
    SignedTransfer {
        authorization: authorization(),
        prepared: prepared(),
    }
}

/// A withdrawal in every state.
pub(crate) fn withdrawals() -> Vec<Withdrawal> {
    use purser_actors::entity::withdrawal::Status;
    let withdrawal = |status| Withdrawal {
        owner: WALLET,
        to: WALLET,
        amount: Usdc::from_atomic(5_000_000),
        created_at: NOW,
        updated_at: NOW,
        status,
    };
    vec![
        withdrawal(Status::Pending),
        withdrawal(Status::Sent(Box::new(outgoing()))),
        withdrawal(Status::CompleteSigned {
            transaction: transaction(),
            fingerprint: outgoing().authorization.fingerprint(),
        }),
        withdrawal(Status::Failed {
            reason: "expired".into(),
        }),
    ]
}

/// A new account, and a frozen one.
pub(crate) fn accounts() -> Vec<Account> {
    use purser_actors::entity::account::Event;
    let active = fold::<Account>(None, &WALLET, &[Event::Opened(NOW)]);
    let frozen = fold(Some(active.clone()), &WALLET, &[Event::Frozen("call us".into())]);
    vec![active, frozen]
}

pub(crate) fn fold<E: Entity>(state: Option<E>, id: &E::Id, events: &[E::Event]) -> E {
    let after = events
        .iter()
        .fold(state, |state, event| Some(E::apply(state, id, event).unwrap()));
    after.expect("something happened")
}

pub(crate) fn status<E: Entity>(state: Option<&E>) -> &'static str {
    state.map_or("-", E::status)
}

/// Event names of a decision, in order; `=` for none.
pub(crate) fn event_names<E: Entity>(decision: &Decision<E>) -> String {
    let name = |event: &E::Event| {
        let text = format!("{event:?}");
        text.split([' ', '(', '{']).next().unwrap_or_default().to_owned()
    };
    match decision.events() {
        [] => "=".into(),
        events => events.iter().map(name).collect::<Vec<_>>().join("+"),
    }
}

pub(crate) fn job_names<E: Entity>(decision: &Decision<E>) -> Vec<&'static str> {
    decision.jobs().iter().map(|outbox_job| outbox_job.job.name()).collect()
}

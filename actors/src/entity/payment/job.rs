//! Jobs of payments.

use crate::entity::account::CapReservation;
use crate::entity::payment::SessionSeed;
use crate::id::PaymentId;
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};

jobs! { Payment:
    /// Settle a claimed payment on its chain.
    0 SettlePayment(id: PaymentId) = "settle_payment" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Read the chain until an unknown or declined payment has settled or can never settle.
    1 WatchPayment(id: PaymentId) = "watch_payment" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Either,
            credits: Credits::Never,
            credit_needs_proof: true,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
    /// Confirm to a payment that its account was credited.
    4 ConfirmPaymentCredit(id: PaymentId) = "confirm_payment_credit" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Confirm to a released payment that its account admitted it again.
    6 ReadmitPayment {
        /// Released payment that the account admitted again.
        payment: PaymentId,
        /// New cap reservation.
        reservation: CapReservation,
        /// Session to open if this admits the payment.
        session: SessionSeed,
    } = "readmit_payment" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Poll the chain until a settled payment is final or can never settle.
    52 AwaitFinal(id: PaymentId) = "await_final" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

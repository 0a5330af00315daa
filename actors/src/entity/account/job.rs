//! Jobs of accounts.

use crate::entity::account::CapReservation;
use crate::entity::account::CreditCause;
use crate::id::{DepositId, Network, PaymentId, Wallet, WithdrawalId};
use crate::jobs::{Credits, JobPolicy, LineDependency, OperatorPolicy, Outcomes, Queue, jobs};
use crate::money::Usdc;
use crate::port::Timestamp;
use crate::product::ProductLine;

jobs! { Account:
    /// Credit an account with its amount in suspense.
    3 CreditAccount {
        /// Account to credit.
        account: Wallet,
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit; notified once the credit is durable.
        cause: CreditCause,
    } = "credit_account" => JobPolicy {
        line: LineDependency::None,
        outgoing: None,
        queue: Queue::OfKind,
        operator: Some(OperatorPolicy {
            outcomes: Outcomes::Neither,
            credits: Credits::IfNotCompleted,
            credit_needs_proof: false,
            absence_is_definitive: false,
            pending_means_not_completed: false,
        }),
    };
    /// Release an account's cap reservation.
    5 ReleaseCapReservation {
        /// Account with the caps.
        account: Wallet,
        /// Reservation to release.
        reservation: CapReservation,
    } = "release_cap_reservation" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Settle a hold on an account.
    16 SettleHold {
        /// Withdrawal that the hold is for.
        withdrawal: WithdrawalId,
        /// Account with the hold.
        account: Wallet,
        /// Amount of the hold, in USDC.
        amount: Usdc,
        /// Network of the payout; `None` releases the hold.
        paid: Option<Network>,
    } = "settle_hold" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Hold an incoming transfer on its account and open the withdrawal that returns it to the sender.
    46 SendBack {
        /// Transfer to return.
        deposit: DepositId,
        /// Account of the withdrawal.
        account: Wallet,
        /// Wallet that sent it.
        to: Wallet,
        /// Amount in USDC.
        amount: Usdc,
    } = "send_back" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Count a purchase of a history that a restore lost toward an account's daily caps.
    49 CountCapReservation {
        /// Account with the caps.
        account: Wallet,
        /// Reservation on the day of the payment.
        reservation: CapReservation,
    } = "count_cap_reservation" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Count what a payment may have bought in a lost history, until it is sent again.
    50 CountUnclaimed {
        /// Account with the caps.
        account: Wallet,
        /// Payment of the lost history.
        payment: PaymentId,
        /// Product lines that it may have bought.
        lines: Vec<ProductLine>,
        /// Reservations on the day of the payment: one for each cap group that it may belong to.
        reservations: Vec<CapReservation>,
    } = "count_unclaimed" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Count what a payment of a lost history bought, once it has settled, instead of what it may have bought.
    51 CountClaimed {
        /// Account with the caps.
        account: Wallet,
        /// Payment that has settled.
        payment: PaymentId,
    } = "count_claimed" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// End the hold of a credit once the payment behind it is final or can never settle.
    53 ReleaseCredit {
        /// Account with the credit.
        account: Wallet,
        /// Payment behind the credit.
        payment: PaymentId,
        /// Amount of the hold, in USDC.
        amount: Usdc,
    } = "release_credit" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
    /// Revoke an account's API keys from before a stop of its agents.
    54 RevokeApiKeys {
        /// Account with the keys.
        account: Wallet,
        /// Keys created until then are revoked.
        until: Timestamp,
    } = "revoke_api_keys" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

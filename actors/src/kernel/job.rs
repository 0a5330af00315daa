//! Jobs: durable tasks that call external systems or another entity, stored in the outbox.
//!
//! A job is a row. The batch that needs the task writes it, and the batch that records the outcome deletes it, on the
//! condition that it still exists. The row is the only record that the job is pending. A job runs at least once.

mod cap_reservation;
mod credit_cause;
mod entity_kind;
mod failure;
mod line_dependency;
mod outbox_job;
mod outgoing_purpose;
mod partition_key;
mod subject;

use crate::id::{
    BankAccountId, BankDestinationId, BankTransferId, CardId, DepositId, DiscrepancyId, LateReturnId, Network,
    PaymentId, PayoutId, RefundId, TopUpId, Wallet, WalletPaymentId, WebhookDeliveryId, WebhookId, WithdrawalId,
};
use crate::money::Usdc;
use crate::payment::SessionSeed;
use crate::port::Timestamp;
use crate::product::ProductLine;

pub use cap_reservation::{CapReservation, UnclaimedCapUsage};
pub use credit_cause::CreditCause;
pub use failure::{AttemptFailure, RetryMode};
pub use line_dependency::LineDependency;
pub use outbox_job::OutboxJob;
pub use outgoing_purpose::OutgoingPurpose;

/// Task of an outbox record.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Job {
    /// Settle a claimed payment on its chain.
    SettlePayment(PaymentId),
    /// Read the chain until an unknown or declined payment has settled or can never settle.
    WatchPayment(PaymentId),
    /// Order a card from the issuer.
    IssueCard(CardId),
    /// Credit an account with its amount in suspense.
    CreditAccount {
        /// Account to credit.
        account: Wallet,
        /// Amount in USDC.
        amount: Usdc,
        /// Cause of the credit; notified once the credit is durable.
        cause: CreditCause,
    },
    /// Confirm to a payment that its account was credited.
    ConfirmPaymentCredit(PaymentId),
    /// Release an account's cap reservation.
    ReleaseCapReservation {
        /// Account with the caps.
        account: Wallet,
        /// Reservation to release.
        reservation: CapReservation,
    },
    /// Expire a card at the end of its last month.
    ExpireCard(CardId),
    /// Order a gift card from the catalog.
    OrderGiftCard(CardId),
    /// Confirm to a released payment that its account admitted it again.
    ReadmitPayment {
        /// Released payment that the account admitted again.
        payment: PaymentId,
        /// New cap reservation.
        reservation: CapReservation,
        /// Session to open if this admits the payment.
        session: SessionSeed,
    },
    /// Expire a lease on an international order, unless it has ended before.
    ExpireOrderLease {
        /// Order with the lease.
        order: CardId,
        /// Number of the lease.
        lease: u64,
    },
    /// Mark an international order as overdue after a day.
    MarkOrderOverdue(CardId),
    /// Expire an international card at the end of its last month.
    ExpireIntlCard(CardId),
    /// Destroy the key of an international card's CVV.
    ShredCvv(CardId),
    /// Request an identity check and poll its verdict.
    CheckIdentity(Wallet),
    /// Open an account owner's account at the card issuer.
    OpenIssuerAccount(Wallet),
    /// Sign and send a withdrawal, and follow it until it is confirmed or can never settle.
    SendWithdrawal(WithdrawalId),
    /// Settle a hold on an account.
    SettleHold {
        /// Account with the hold.
        account: Wallet,
        /// Withdrawal that the hold is for.
        withdrawal: WithdrawalId,
        /// Amount of the hold, in USDC.
        amount: Usdc,
        /// Network of the payout; `None` releases the hold.
        paid: Option<Network>,
    },
    /// Order a payout from a rail, and poll until it has an outcome.
    SendPayout(PayoutId),
    /// Recall a payout that was paid too late or is unclaimed.
    RecallPayout(PayoutId),
    /// Expire a payout whose recipient did not submit the form.
    ExpirePayout(PayoutId),
    /// Close a payout's return window.
    CloseReturnWindow(PayoutId),
    /// Confirm to a late return that its account was credited.
    ConfirmLateReturnCredit(LateReturnId),
    /// Save the recipient of an app payment.
    SaveRecipient(PayoutId),
    /// Send the first leg of a top-up: the burn, or the transfer on Base.
    SendTopUp(TopUpId),
    /// Bridge a burned top-up: attestation and mint.
    BridgeTopUp(TopUpId),
    /// Poll the card issuer until it has credited a delivered top-up.
    AwaitIssuerCredit(TopUpId),
    /// Refresh a card from the issuer.
    RefreshCard(CardId),
    /// Sign and send a wallet payment, and follow it until it is confirmed or can never settle.
    SendWalletPayment(WalletPaymentId),
    /// Settle a reservation of an agent wallet.
    SettleWalletHold {
        /// Owner of the agent wallet.
        wallet: Wallet,
        /// Wallet payment that it was reserved for.
        payment: WalletPaymentId,
        /// Whether the money left the wallet.
        paid: bool,
    },
    /// Submit an application to the bank and poll its review.
    SubmitBankApplication(Wallet),
    /// Open an account at the bank.
    OpenBankAccount(BankAccountId),
    /// Execute a transfer at the bank.
    ExecuteBankTransfer(BankTransferId),
    /// Destroy the sealed account number of a removed destination, once no payout needs it.
    ShredAccountNumber(BankDestinationId),
    /// Open a reloadable card at the issuer and load it from the owner's balance.
    OpenReloadableCard(CardId),
    /// Carry out a card action of a reloadable card at the issuer.
    ChangeCardState(CardId),
    /// Place a hold at the issuer for a withdrawal from a balance there.
    HoldCardBalance(WithdrawalId),
    /// End that hold at the issuer: it was paid, or is released to the balance.
    SettleCardHold(WithdrawalId),
    /// Expire a lease on a card withdrawal, unless it has ended before.
    ExpireWithdrawalLease {
        /// Withdrawal with the lease.
        withdrawal: WithdrawalId,
        /// Number of the lease.
        lease: u64,
    },
    /// Subtract a returned payment from its recipient's totals.
    ReverseRecipientTotals(PayoutId),
    /// Delete the HTTP record of a wallet payment that has ended.
    PurgeHttpRecord(WalletPaymentId),
    /// Post an event to a webhook endpoint.
    DeliverWebhook {
        /// Delivery to attempt.
        delivery: WebhookDeliveryId,
        /// Endpoint of the delivery.
        endpoint: WebhookId,
        /// Number of the delivery's round: a job of an earlier round ends without an event.
        round: u32,
    },
    /// Redeliver the events that an endpoint has not received.
    RedeliverWebhooks {
        /// Endpoint that gets them.
        endpoint: WebhookId,
        /// Events since this time are redelivered.
        since: Timestamp,
        /// Last sequence number to redeliver.
        upto: u64,
    },
    /// Confirm to a refund that its account was credited.
    ConfirmRefund(RefundId),
    /// Expire a refund that no second operator approved.
    ExpireRefund {
        /// Refund to expire.
        refund: RefundId,
        /// Request number of the refund.
        round: u64,
    },
    /// Check whether a reorged payment can settle again; if it never can, post the loss.
    ConfirmReorg(DiscrepancyId),
    /// Classify a transfer that no payment claims: whether a payment matches, what it bought, which account it belongs
    /// to.
    ClassifyIncoming(DepositId),
    /// Hold an incoming transfer on its account and open the withdrawal that returns it to the sender.
    SendBack {
        /// Account of the withdrawal.
        account: Wallet,
        /// Transfer to return.
        deposit: DepositId,
        /// Wallet that sent it.
        to: Wallet,
        /// Amount in USDC.
        amount: Usdc,
    },
    /// Confirm to an incoming transfer that the account was credited.
    ConfirmIncoming(DepositId),
    /// Carry out a card action of a prepaid card at the issuer.
    ChangePrepaidCardState(CardId),
    /// Count a purchase of a history that a restore lost toward an account's daily caps.
    CountCapReservation {
        /// Account with the caps.
        account: Wallet,
        /// Reservation on the day of the payment.
        reservation: CapReservation,
    },
    /// Count what a payment may have bought in a lost history, until it is sent again.
    CountUnclaimed {
        /// Account with the caps.
        account: Wallet,
        /// Payment of the lost history.
        payment: PaymentId,
        /// Product lines that it may have bought.
        lines: Vec<ProductLine>,
        /// Reservations on the day of the payment: one for each cap group that it may belong to.
        reservations: Vec<CapReservation>,
    },
    /// Count what such a payment bought, now that it has settled, instead of what it may have bought.
    CountClaimed {
        /// Account with the caps.
        account: Wallet,
        /// Payment that has settled.
        payment: PaymentId,
    },
    /// Poll the chain until a settled payment is final or can never settle.
    AwaitFinal(PaymentId),
    /// End the hold of a credit once the payment behind it is final or can never settle.
    ReleaseCredit {
        /// Account with the credit.
        account: Wallet,
        /// Payment behind the credit.
        payment: PaymentId,
        /// Amount of the hold, in USDC.
        amount: Usdc,
    },
}

impl Job {
    /// Name of every job type, in the order of [`Job::index`].
    pub const NAMES: [&str; 54] = [
        "settle_payment",
        "watch_payment",
        "issue_card",
        "credit_account",
        "confirm_payment_credit",
        "release_cap_reservation",
        "readmit_payment",
        "expire_card",
        "order_gift_card",
        "expire_order_lease",
        "mark_order_overdue",
        "expire_intl_card",
        "shred_cvv",
        "check_identity",
        "open_issuer_account",
        "send_withdrawal",
        "settle_hold",
        "send_payout",
        "recall_payout",
        "expire_payout",
        "close_return_window",
        "confirm_late_return_credit",
        "save_recipient",
        "send_top_up",
        "bridge_top_up",
        "await_issuer_credit",
        "refresh_card",
        "send_wallet_payment",
        "settle_wallet_hold",
        "submit_bank_application",
        "open_bank_account",
        "execute_bank_transfer",
        "shred_account_number",
        "open_reloadable_card",
        "change_card_state",
        "hold_card_balance",
        "settle_card_hold",
        "expire_withdrawal_lease",
        "reverse_recipient_totals",
        "purge_http_record",
        "deliver_webhook",
        "redeliver_webhooks",
        "confirm_refund",
        "expire_refund",
        "confirm_reorg",
        "classify_incoming",
        "send_back",
        "confirm_incoming",
        "change_prepaid_card_state",
        "count_cap_reservation",
        "count_unclaimed",
        "count_claimed",
        "await_final",
        "release_credit",
    ];

    /// Position in [`Job::NAMES`].
    pub const fn index(&self) -> usize {
        match self {
            Self::SettlePayment(_) => 0,
            Self::WatchPayment(_) => 1,
            Self::IssueCard(_) => 2,
            Self::CreditAccount { .. } => 3,
            Self::ConfirmPaymentCredit(_) => 4,
            Self::ReleaseCapReservation { .. } => 5,
            Self::ReadmitPayment { .. } => 6,
            Self::ExpireCard(_) => 7,
            Self::OrderGiftCard(_) => 8,
            Self::ExpireOrderLease { .. } => 9,
            Self::MarkOrderOverdue(_) => 10,
            Self::ExpireIntlCard(_) => 11,
            Self::ShredCvv(_) => 12,
            Self::CheckIdentity(_) => 13,
            Self::OpenIssuerAccount(_) => 14,
            Self::SendWithdrawal(_) => 15,
            Self::SettleHold { .. } => 16,
            Self::SendPayout(_) => 17,
            Self::RecallPayout(_) => 18,
            Self::ExpirePayout(_) => 19,
            Self::CloseReturnWindow(_) => 20,
            Self::ConfirmLateReturnCredit(_) => 21,
            Self::SaveRecipient(_) => 22,
            Self::SendTopUp(_) => 23,
            Self::BridgeTopUp(_) => 24,
            Self::AwaitIssuerCredit(_) => 25,
            Self::RefreshCard(_) => 26,
            Self::SendWalletPayment(_) => 27,
            Self::SettleWalletHold { .. } => 28,
            Self::SubmitBankApplication(_) => 29,
            Self::OpenBankAccount(_) => 30,
            Self::ExecuteBankTransfer(_) => 31,
            Self::ShredAccountNumber(_) => 32,
            Self::OpenReloadableCard(_) => 33,
            Self::ChangeCardState(_) => 34,
            Self::HoldCardBalance(_) => 35,
            Self::SettleCardHold(_) => 36,
            Self::ExpireWithdrawalLease { .. } => 37,
            Self::ReverseRecipientTotals(_) => 38,
            Self::PurgeHttpRecord(_) => 39,
            Self::DeliverWebhook { .. } => 40,
            Self::RedeliverWebhooks { .. } => 41,
            Self::ConfirmRefund(_) => 42,
            Self::ExpireRefund { .. } => 43,
            Self::ConfirmReorg(_) => 44,
            Self::ClassifyIncoming(_) => 45,
            Self::SendBack { .. } => 46,
            Self::ConfirmIncoming(_) => 47,
            Self::ChangePrepaidCardState(_) => 48,
            Self::CountCapReservation { .. } => 49,
            Self::CountUnclaimed { .. } => 50,
            Self::CountClaimed { .. } => 51,
            Self::AwaitFinal(_) => 52,
            Self::ReleaseCredit { .. } => 53,
        }
    }

    /// Name in logs, metrics and the operator API.
    pub const fn name(&self) -> &'static str {
        Self::NAMES[self.index()]
    }
}

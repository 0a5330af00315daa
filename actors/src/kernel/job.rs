//! Durable work that leaves the house or crosses to another entity: the outbox.
//!
//! An effect is a row. It is written by the batch that wants the work and deleted by the batch that records the
//! outcome, on the condition that it still exists: that is the only memory of what was seen. It runs at least once.

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

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Job {
    /// Bring a claimed payment to the chain.
    SettlePayment(PaymentId),
    /// Read the chain until an unknown or declined payment has landed or can never land.
    WatchPayment(PaymentId),
    /// Have the issuer make a card.
    IssueCard(CardId),
    /// Credit an account with what stands in suspense for it.
    CreditAccount {
        /// Whose balance.
        account: Wallet,
        /// How much.
        amount: Usdc,
        /// What is told once the credit is durable.
        cause: CreditCause,
    },
    /// Tell a payment that its account holds the credit.
    ConfirmPaymentCredit(PaymentId),
    /// Give back an account's share of its daily caps.
    ReleaseCapReservation {
        /// Whose.
        account: Wallet,
        /// What was reserved.
        reservation: CapReservation,
    },
    /// End a card's life.
    ExpireCard(CardId),
    /// Order a gift card from the catalog.
    OrderGiftCard(CardId),
    /// Tell a released payment that its account has admitted it again.
    ReadmitPayment {
        /// Which.
        payment: PaymentId,
        /// What was reserved for it.
        reservation: CapReservation,
        /// Opened if this is what admits it.
        session: SessionSeed,
    },
    /// End a lease on an international order, if it has not ended otherwise.
    ExpireOrderLease {
        /// Which order.
        order: CardId,
        /// Which lease.
        lease: u64,
    },
    /// Tell an international order that a day has gone by.
    MarkOrderOverdue(CardId),
    /// End an international card's life.
    ExpireIntlCard(CardId),
    /// Destroy the key of an international card's CVV.
    ShredCvv(CardId),
    /// Have a holder's identity checked and learn the verdict.
    CheckIdentity(Wallet),
    /// Have the card issuer open a holder's account.
    OpenIssuerAccount(Wallet),
    /// Sign a withdrawal, send it, and follow it until the chain shows it or it can never land.
    SendWithdrawal(WithdrawalId),
    /// End an account's hold.
    SettleHold {
        /// Whose.
        account: Wallet,
        /// For what it was held.
        withdrawal: WithdrawalId,
        /// What was held.
        amount: Usdc,
        /// Where it was paid out; `None` gives it back.
        paid: Option<Network>,
    },
    /// Have a rail pay out, and ask until it has come to something.
    SendPayout(PayoutId),
    /// Have a rail give back what was paid too late, or what nobody has claimed.
    RecallPayout(PayoutId),
    /// Give up waiting for a payout's recipient.
    ExpirePayout(PayoutId),
    /// End a payout's return window.
    CloseReturnWindow(PayoutId),
    /// Tell a late return that its account holds the credit.
    ConfirmLateReturnCredit(LateReturnId),
    /// Save whom an app payment went to.
    SaveRecipient(PayoutId),
    /// Send a top-up on its first leg: the burn, or the transfer on Base.
    SendTopUp(TopUpId),
    /// Bring a burned top-up over the bridge: attestation and mint.
    BridgeTopUp(TopUpId),
    /// Ask the card issuer until it has credited a delivered top-up.
    AwaitIssuerCredit(TopUpId),
    /// Ask the issuer for news of a card.
    RefreshCard(CardId),
    /// Sign a spend, send it, and follow it until the chain shows it or it can never land.
    SendWalletPayment(WalletPaymentId),
    /// End a managed wallet's reservation.
    SettleWalletHold {
        /// Whose wallet.
        wallet: Wallet,
        /// For what it was reserved.
        payment: WalletPaymentId,
        /// Whether it left.
        paid: bool,
    },
    /// Give an application to the bank and learn what it says.
    SubmitBankApplication(Wallet),
    /// Have the bank open an account.
    OpenBankAccount(BankAccountId),
    /// Have the bank move money.
    ExecuteBankTransfer(BankTransferId),
    /// Destroy the sealed number of a removed destination, once no payout needs it.
    ShredAccountNumber(BankDestinationId),
    /// Have the issuer open a reloadable card and load it from its holder's balance.
    OpenReloadableCard(CardId),
    /// Have the issuer do what a reloadable card's holder wants of it.
    ChangeCardState(CardId),
    /// Have the issuer set aside what is withdrawn from a balance there.
    HoldCardBalance(WithdrawalId),
    /// Have the issuer end that: it was paid, or goes back to the balance.
    SettleCardHold(WithdrawalId),
    /// End a lease on a withdrawal from a card balance, if it has not ended otherwise.
    ExpireWithdrawalLease {
        /// Which withdrawal.
        withdrawal: WithdrawalId,
        /// Which lease.
        lease: u64,
    },
    /// Take a payment that came back out of its recipient's totals.
    ReverseRecipientTotals(PayoutId),
    /// Delete what was said for a spend that has ended.
    PurgeHttpRecord(WalletPaymentId),
    /// Post an event to an endpoint.
    DeliverWebhook {
        /// What is delivered.
        delivery: WebhookDeliveryId,
        /// Where.
        endpoint: WebhookId,
        /// How often it was asked for: what an earlier asking has left to do ends without a word.
        round: u32,
    },
    /// Ask again for what an endpoint has not received.
    RedeliverWebhooks {
        /// Which endpoint.
        endpoint: WebhookId,
        /// Of events since then.
        since: Timestamp,
        /// Up to this sequence.
        upto: u64,
    },
    /// Tell a refund that its account holds the credit.
    ConfirmRefund(RefundId),
    /// Give up waiting for a second operator.
    ExpireRefund {
        /// Which refund.
        refund: RefundId,
        /// Which asking.
        round: u64,
    },
    /// Ask the chain whether a payment that it has taken back can land again; if it never can, book the loss.
    ConfirmReorg(DiscrepancyId),
    /// Look into a transfer that no payment claims: whether one does, what was bought with it, whose it is.
    ClassifyIncoming(DepositId),
    /// Reserve a transfer that goes back to its sender, and open the withdrawal that brings it there.
    SendBack {
        /// Whose withdrawal.
        account: Wallet,
        /// Which transfer.
        deposit: DepositId,
        /// Who sent it.
        to: Wallet,
        /// How much.
        amount: Usdc,
    },
    /// Tell a transfer that the account holds it.
    ConfirmIncoming(DepositId),
    /// Have the issuer do what a prepaid card's holder wants of it.
    ChangePrepaidCardState(CardId),
    /// Count what was bought in a history that a restore has lost against an account's daily caps.
    CountCapReservation {
        /// Whose.
        account: Wallet,
        /// Of the day on which it was paid.
        reservation: CapReservation,
    },
    /// Count what a payment may have bought in a history that a restore has lost, as long as nobody presents it again.
    CountUnclaimed {
        /// Whose.
        account: Wallet,
        /// Which.
        payment: PaymentId,
        /// Of what it may have bought.
        lines: Vec<ProductLine>,
        /// Of the day on which it was paid: one for each budget that it may have been of.
        reservations: Vec<CapReservation>,
    },
    /// Count what such a payment has bought, now that it has settled, in the place of what it may have bought.
    CountClaimed {
        /// Whose.
        account: Wallet,
        /// Which.
        payment: PaymentId,
    },
    /// Ask the chain until a settled payment is final, or gone for good.
    AwaitFinal(PaymentId),
    /// End the hold of a credit once the payment that it rests on is final, or gone for good.
    ReleaseCredit {
        /// Whose balance.
        account: Wallet,
        /// Which payment.
        payment: PaymentId,
        /// What is held.
        amount: Usdc,
    },
}

impl Job {
    /// Every kind of work, in the order of [`Work::index`].
    pub const NAMES: [&str; 54] = [
        "settle",
        "watch",
        "issue_card",
        "credit",
        "confirm_credit",
        "free_share",
        "readmit",
        "expire_card",
        "order_gift_card",
        "end_lease",
        "intl_overdue",
        "expire_intl",
        "shred",
        "check_identity",
        "open_issuer_account",
        "withdraw",
        "end_hold",
        "send_payout",
        "recall_payout",
        "expire_payout",
        "close_returns",
        "late_return",
        "save_recipient",
        "send_top_up",
        "cross_bridge",
        "await_card_credit",
        "refresh_card",
        "spend",
        "end_spend",
        "review_application",
        "open_bank_account",
        "move_bank_money",
        "forget_number",
        "open_card",
        "steer_card",
        "reserve_card_balance",
        "end_reservation",
        "end_card_lease",
        "uncount_payment",
        "forget_spoken",
        "post_webhook",
        "resend_webhooks",
        "confirm_refund",
        "expire_refund",
        "pursue",
        "place_incoming",
        "send_back",
        "confirm_incoming",
        "steer_prepaid",
        "count_share",
        "count_unclaimed",
        "count_claimed",
        "await_final",
        "release_credit",
    ];

    /// Its place in [`Work::NAMES`].
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

    /// In logs, metrics and the operator's list.
    pub const fn name(&self) -> &'static str {
        Self::NAMES[self.index()]
    }
}

//! Closed sets of values in responses: statuses, reasons and names.

use serde::Deserialize;
use utoipa::ToSchema;

/// Status of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountStatus {
    Active,
    Frozen,
}

/// Status of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApiKeyStatus {
    /// Not used yet.
    Issued,
    Active,
    Revoked,
}

/// Status of a prepaid card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatus {
    /// The issuer has not created it yet.
    Pending,
    Ready,
    Paused,
    Failed,
    Closed,
    Expired,
}

/// Status of a gift card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiftCardStatus {
    Processing,
    Completed,
    Failed,
}

/// Status of an international card, from its order on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IntlCardStatus {
    Queued,
    /// An operator is working on it.
    Claimed,
    Ready,
    Paused,
    Closed,
    Cancelled,
    Rejected,
    Expired,
}

/// Status of a reloadable card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReloadableCardStatus {
    Creating,
    Open,
    Paused,
    Closed,
    Failed,
}

/// Status of a reloadable card in the response to its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreatedCardStatus {
    Open,
    /// The issuer has not answered yet.
    Creating,
}

/// Action on a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardAction {
    Pause,
    Resume,
    Close,
}

/// Status change of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardStatusChange {
    /// Of a prepaid card.
    Ready,
    /// Of a reloadable card.
    Open,
    Paused,
    Resumed,
    Closed,
    Expired,
    Failed,
}

/// Status of a card transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardTransactionStatus {
    Pending,
    Settled,
    Declined,
    Refunded,
}

/// Product, as in `GET /get-pricing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProductName {
    UsaPrepaidCard,
    IntlPrepaidCard,
    GiftCard,
    PushToCard,
    BankPayment,
    AppPayment,
    CardBalance,
}

/// Product of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PayoutProduct {
    PushToCard,
    BankPayment,
    AppPayment,
}

/// Status of a payment, not of its product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentStatus {
    Claimed,
    Settling,
    /// The chain has not answered yet.
    Unknown,
    Declined,
    /// It was not sent and can be presented again.
    Released,
    Settled,
    /// It bought a product.
    Fulfilled,
    /// It was credited to the account's balance.
    Credited,
    /// It can never settle.
    Refused,
    /// The chain removed it after it had settled.
    Reversed,
    /// An operator decided its transfer separately, and the account was not credited.
    Resolved,
}

/// What happened to the transfer of a payment that is `resolved`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentResolution {
    /// To its sender.
    Returned,
    /// For its payer, before a restore.
    Forwarded,
    Other,
}

/// Status of any product that a payment can buy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProductStatus {
    Pending,
    Ready,
    Paused,
    Failed,
    Closed,
    Expired,
    Processing,
    Completed,
    Queued,
    Claimed,
    Cancelled,
    Rejected,
    AwaitingDetails,
    InProcess,
    Complete,
    Returned,
    Paid,
    Bridging,
    Delivered,
    Credited,
}

/// Status of a payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PayoutStatus {
    /// The recipient has not entered a card yet.
    AwaitingDetails,
    Queued,
    InProcess,
    Complete,
    Returned,
    Failed,
    Cancelled,
    Expired,
}

/// Status of a late return.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateReturnStatus {
    Received,
    Credited,
    /// The amount was not credited.
    #[serde(rename = "kept")]
    Retained,
}

/// Payment app.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentApp {
    Venmo,
    Paypal,
}

/// Status of a listed recipient of app payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaymentRecipientStatus {
    Active,
    Archived,
}

/// Status of a top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopUpStatus {
    Paid,
    /// On its way from Solana to Base.
    Bridging,
    /// At the deposit address.
    Delivered,
    /// On the card balance.
    Credited,
    Failed,
}

/// Kind of a transfer of a top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopUpLegKind {
    /// On Solana.
    Burn,
    /// On Base, after a burn.
    Mint,
    /// On Base.
    Transfer,
}

/// Network of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NetworkName {
    Base,
    Solana,
}

/// Network of deposit addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DepositNetwork {
    Base,
}

/// Reason of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HoldReason {
    /// Until the account is unfrozen.
    HeldFrozen,
    /// Until the payments from before a restore are in the ledger.
    HeldRestored,
    /// Until the payment behind it is final.
    HeldUnfinal,
}

/// Reason of a hold that lasts until a payment is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnfinalHold {
    HeldUnfinal,
}

/// State of a withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithdrawalState {
    Pending,
    Sent,
    Complete,
    Failed,
}

/// Detailed status of a withdrawal from a card balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CardBalanceWithdrawalStatus {
    Pending,
    Queued,
    /// An operator is paying it.
    Claimed,
    Complete,
    Rejected,
    Failed,
}

/// Balance of a withdrawal, if it is not the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WithdrawalSource {
    /// The balance at the card issuer.
    CardBalance,
}

/// Change of the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StatementLineType {
    Credited,
    Held,
    Withdrawn,
    Released,
    Debited,
    /// A credit on hold until the payment behind it is final.
    HeldUnfinal,
    /// A credit whose payment was reversed.
    Reversed,
}

/// Status of a webhook endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookStatus {
    Active,
    Disabled,
    Deleted,
}

/// Reason of a disabled webhook endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDisabledReason {
    /// It answered 410.
    Gone,
    /// All attempts failed for too long.
    Failing,
}

/// Status of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDeliveryStatus {
    Pending,
    Delivered,
    Failed,
    Dropped,
}

/// Reason of a dropped delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookDroppedReason {
    EndpointDisabled,
    EndpointDeleted,
    EventExpired,
}

/// Status of a managed wallet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentWalletStatus {
    Active,
}

/// Status of a wallet payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WalletPaymentStatus {
    Pending,
    Signed,
    /// The server has answered.
    Sent,
    Settled,
    Failed,
    /// It can never settle.
    Unsettled,
}

/// Status of a wallet payment, with one value for every pending one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WalletPaymentProgress {
    Settled,
    Pending,
    Failed,
    Unsettled,
}

/// Status of a payment or transfer that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentPaymentStatus {
    Settled,
    Pending,
    /// The server asked for no payment.
    Free,
}

/// Kind of a wallet payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WalletPaymentKind {
    /// A paid call.
    X402,
    Transfer,
}

/// Status of an identity check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdentityStatus {
    /// No check was started.
    None,
    InReview,
    Verified,
    Rejected,
}

/// Type of a customer of the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CustomerType {
    Individual,
    Business,
}

/// Status of a banking profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankingProfileState {
    Open,
}

/// Whether there is a banking profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankingState {
    None,
    Open,
}

/// Status of a bank application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankingApplicationStatus {
    Incomplete,
    Submitted,
    Approved,
    Rejected,
}

/// Status of the bank application, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankingApplicationProgress {
    None,
    Incomplete,
    Submitted,
    Approved,
    Rejected,
}

/// Type of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankingDocumentType {
    ProofOfAddress,
    FormationDocument,
    Other,
}

/// Type of a bank account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankAccountType {
    /// Its deposits are credited to the balance.
    Onramp,
    /// Holds US dollars that came from the balance.
    Offramp,
}

/// Status of a bank account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankAccountStatus {
    Pending,
    Open,
    Rejected,
}

/// Type of a recipient's bank account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankDestinationType {
    /// A U.S. account with a routing number.
    FiatUs,
    /// An account with an IBAN.
    FiatIban,
}

/// Status of a bank destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankDestinationStatus {
    Active,
    Removed,
}

/// Type of a bank transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankTransactionType {
    /// Between the balance and an own bank account.
    Transfer,
    /// To a bank destination.
    Payout,
}

/// Direction of a bank transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BankTransactionDirection {
    /// A deposit.
    Incoming,
    ToAccount,
    ToBalance,
    /// A payout.
    Outgoing,
}

/// Status of a transfer or a bank payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BankTransactionStatus {
    Pending,
    Complete,
    Failed,
    Returned,
    /// Of a payout.
    Queued,
    /// Of a payout.
    InProcess,
    /// Of a payout.
    Cancelled,
}

/// Type of a prepaid card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub enum PrepaidCardType {
    #[serde(rename = "Non-Reloadable U.S.")]
    NonReloadableUs,
}

/// Type of an international card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub enum IntlCardType {
    #[serde(rename = "Non-Reloadable International")]
    NonReloadableInternational,
}

/// Type of a reloadable card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub enum ReloadableCardType {
    Reloadable,
}

/// Type of a gift card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
pub enum GiftCardType {
    #[serde(rename = "Gift Card")]
    GiftCard,
}

/// Status of an account's link to the card issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum IssuerLinkStatus {
    Unlinked,
    Linked,
}

/// Status of a recipient of app payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecipientStatus {
    Active,
    Archived,
    Deleted,
}

/// Status of a refund.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RefundStatus {
    Requested,
    Approved,
    Credited,
    Rejected,
    Expired,
}

/// Status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    Active,
    Revoked,
}

/// Reason for which a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionEndReason {
    /// Its refresh token was used twice.
    RefreshTokenReused,
    /// Its owner signed out.
    SignedOut,
}

/// Status in lists that have no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActiveStatus {
    Active,
}

/// Status of a new push to card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AwaitingDetailsStatus {
    AwaitingDetails,
}

/// Status after a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimedStatus {
    Claimed,
}

/// Status of a purchase whose charge was credited to the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CreditedStatus {
    Credited,
}

/// Status of a new top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PaidStatus {
    Paid,
}

/// Status of a new resource that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PendingStatus {
    Pending,
}

/// Status of a new gift card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProcessingStatus {
    Processing,
}

/// Status of a new order or payout that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueuedStatus {
    Queued,
}

/// Status of a payment whose outcome is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettlementPendingStatus {
    SettlementPending,
}

#[cfg(test)]
pub(in crate::http) mod tests {
    use std::collections::BTreeSet;

    use purser_actors::account::{self, Account};
    use purser_actors::agent_wallet::AgentWallet;
    use purser_actors::api_key::ApiKey;
    use purser_actors::bank_destination::{self, BankDestination};
    use purser_actors::banking::account::BankAccount;
    use purser_actors::banking::application::{BankingApplication, DocumentType};
    use purser_actors::banking::profile::BankingProfile;
    use purser_actors::banking::transfer::{BankTransfer, TransferDirection};
    use purser_actors::card::{Card, lifecycle::LifecycleChange};
    use purser_actors::card_withdrawal::CardWithdrawal;
    use purser_actors::engine::GateHold;
    use purser_actors::gift_card::GiftCard;
    use purser_actors::id::Network;
    use purser_actors::identity_verification::IdentityVerification;
    use purser_actors::intl_order::IntlOrder;
    use purser_actors::issuer_link::IssuerLink;
    use purser_actors::kernel::Entity;
    use purser_actors::late_return::LateReturn;
    use purser_actors::payment::{Payment, Resolution};
    use purser_actors::payment_recipient::PaymentRecipient;
    use purser_actors::payout::Payout;
    use purser_actors::port::banking::AccountType;
    use purser_actors::port::{self, TransactionStatus};
    use purser_actors::product::{Platform, ProductLine};
    use purser_actors::refund::Refund;
    use purser_actors::reloadable_card::{CardHistoryEntry, ReloadableCard};
    use purser_actors::session::Session;
    use purser_actors::top_up::TopUp;
    use purser_actors::wallet_payment::WalletPayment;
    use purser_actors::webhook::{DisabledReason, WebhookEndpoint};
    use purser_actors::webhook_delivery::{DroppedReason, WebhookDelivery};
    use purser_actors::withdrawal::Withdrawal;
    use serde_json::{Value, json};
    use utoipa::PartialSchema;

    use super::*;

    pub(in crate::http) type Names = BTreeSet<String>;

    /// Values of an enum, as the documents have them.
    pub(in crate::http) fn values<T: PartialSchema>() -> Names {
        let schema = json!(T::schema());
        let values = schema["enum"].as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// States of a state machine.
    pub(in crate::http) fn states<E: Entity>() -> Names {
        let states = E::TRANSITIONS.iter().flat_map(|(from, _, to)| [*from, *to]);
        names(states.filter(|state| *state != "-"))
    }

    pub(in crate::http) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        names.into_iter().map(str::to_owned).collect()
    }

    fn with(mut all: Names, more: &str) -> Names {
        all.insert(more.to_owned());
        all
    }

    // Checks: an enum of the documents has exactly the states of the state machine that it shows.
    #[test]
    fn enums_have_the_states_of_the_state_machines() {
        for (documented, real) in [
            (values::<AccountStatus>(), states::<Account>()),
            (values::<AgentWalletStatus>(), states::<AgentWallet>()),
            (values::<ApiKeyStatus>(), states::<ApiKey>()),
            (values::<BankAccountStatus>(), states::<BankAccount>()),
            (values::<BankDestinationStatus>(), states::<BankDestination>()),
            (values::<BankingApplicationStatus>(), states::<BankingApplication>()),
            (
                values::<BankingApplicationProgress>(),
                with(states::<BankingApplication>(), "none"),
            ),
            (values::<BankingProfileState>(), states::<BankingProfile>()),
            (values::<BankingState>(), with(states::<BankingProfile>(), "none")),
            (values::<CardBalanceWithdrawalStatus>(), states::<CardWithdrawal>()),
            (values::<CardStatus>(), states::<Card>()),
            (values::<GiftCardStatus>(), states::<GiftCard>()),
            (
                values::<IdentityStatus>(),
                with(states::<IdentityVerification>(), "none"),
            ),
            (values::<IntlCardStatus>(), states::<IntlOrder>()),
            (values::<IssuerLinkStatus>(), states::<IssuerLink>()),
            (values::<LateReturnStatus>(), states::<LateReturn>()),
            (values::<PaymentStatus>(), states::<Payment>()),
            (values::<PayoutStatus>(), states::<Payout>()),
            (values::<RecipientStatus>(), states::<PaymentRecipient>()),
            (values::<RefundStatus>(), states::<Refund>()),
            (values::<ReloadableCardStatus>(), states::<ReloadableCard>()),
            (values::<SessionStatus>(), states::<Session>()),
            (values::<TopUpStatus>(), states::<TopUp>()),
            (values::<WalletPaymentStatus>(), states::<WalletPayment>()),
            (values::<WebhookDeliveryStatus>(), states::<WebhookDelivery>()),
            (values::<WebhookStatus>(), states::<WebhookEndpoint>()),
            (values::<WithdrawalState>(), states::<Withdrawal>()),
        ] {
            assert!(!real.is_empty());
            assert_eq!(documented, real);
        }
    }

    // Checks: an enum that shows several state machines has the states of all, except those that can't occur there.
    #[test]
    fn combined_enums_have_the_states_of_all_machines() {
        let products = [
            states::<Card>(),
            states::<GiftCard>(),
            states::<IntlOrder>(),
            states::<Payout>(),
            states::<TopUp>(),
        ];
        assert_eq!(
            values::<ProductStatus>(),
            products.into_iter().flatten().collect::<Names>()
        );
        // Only a push to card waits for its recipient's details.
        let push_to_card = names(["awaiting-details", "expired"]);
        let bank_payout = &states::<Payout>() - &push_to_card;
        assert_eq!(
            values::<BankTransactionStatus>(),
            &states::<BankTransfer>() | &bank_payout
        );
        // The state of a withdrawal from a card balance is one of a withdrawal's.
        assert!(names(["pending", "complete", "failed"]).is_subset(&values::<WithdrawalState>()));
        let open = names(["pending", "signed", "sent"]);
        let progress = with(&states::<WalletPayment>() - &open, "pending");
        assert_eq!(values::<WalletPaymentProgress>(), progress);
        let recipient = names(["deleted"]);
        let recipient = &states::<PaymentRecipient>() - &recipient;
        assert_eq!(values::<PaymentRecipientStatus>(), recipient);
    }

    // Checks: a status with one value is a state of what it describes, so that a renamed state fails here.
    #[test]
    fn first_states_are_states() {
        for (documented, real) in [
            (values::<AwaitingDetailsStatus>(), states::<Payout>()),
            (values::<ClaimedStatus>(), states::<IntlOrder>()),
            (values::<ClaimedStatus>(), states::<CardWithdrawal>()),
            (values::<CreatedCardStatus>(), states::<ReloadableCard>()),
            (values::<CreditedStatus>(), states::<Payment>()),
            (values::<PaidStatus>(), states::<TopUp>()),
            (values::<PendingStatus>(), states::<Card>()),
            (values::<PendingStatus>(), states::<Withdrawal>()),
            (values::<PendingStatus>(), states::<BankTransfer>()),
            (values::<ProcessingStatus>(), states::<GiftCard>()),
            (values::<QueuedStatus>(), states::<IntlOrder>()),
            (values::<QueuedStatus>(), states::<Payout>()),
            (values::<ActiveStatus>(), states::<BankDestination>()),
        ] {
            assert!(!documented.is_empty());
            assert!(documented.is_subset(&real), "{documented:?}: {real:?}");
        }
    }

    // Checks: an enum that is not of a state machine has the names that the service uses.
    #[test]
    fn enums_have_the_names_that_the_service_uses() {
        use account::StatementLineType as Line;
        use bank_destination::DestinationType;
        use port::CardAction as Action;
        let card_events = [
            LifecycleChange::Ready,
            LifecycleChange::Paused,
            LifecycleChange::Resumed,
            LifecycleChange::Closed,
            LifecycleChange::Expired,
            LifecycleChange::Failed,
        ];
        let reloadable_events = [
            CardHistoryEntry::Opened,
            CardHistoryEntry::Paused,
            CardHistoryEntry::Resumed,
            CardHistoryEntry::Closed,
            CardHistoryEntry::Failed,
        ];
        let card_events = card_events.map(LifecycleChange::name);
        let reloadable_events = reloadable_events.map(CardHistoryEntry::name);
        let lines = [
            Line::Credited,
            Line::Held,
            Line::Withdrawn,
            Line::Released,
            Line::Debited,
            Line::HeldUntilFinal,
            Line::Reversed,
        ];
        let directions = [
            TransferDirection::Incoming,
            TransferDirection::ToAccount,
            TransferDirection::ToBalance,
        ];
        let documents = [
            DocumentType::ProofOfAddress,
            DocumentType::Formation,
            DocumentType::Other,
        ];
        let dropped = [DroppedReason::Disabled, DroppedReason::Deleted, DroppedReason::Expired];
        let resolutions = [Resolution::Returned, Resolution::Forwarded, Resolution::Other];
        for (documented, real) in [
            (
                values::<BankAccountType>(),
                names([AccountType::OnRamp, AccountType::OffRamp].map(AccountType::name)),
            ),
            (
                values::<BankDestinationType>(),
                names([DestinationType::FiatUs, DestinationType::FiatIban].map(DestinationType::name)),
            ),
            (
                values::<BankingDocumentType>(),
                names(documents.map(DocumentType::name)),
            ),
            (
                values::<BankTransactionDirection>(),
                with(names(directions.map(TransferDirection::name)), "outgoing"),
            ),
            (
                values::<CardAction>(),
                names([Action::Pause, Action::Resume, Action::Close].map(Action::name)),
            ),
            (
                values::<CardStatusChange>(),
                names(card_events.into_iter().chain(reloadable_events)),
            ),
            (
                values::<CardTransactionStatus>(),
                names(TransactionStatus::ALL.map(TransactionStatus::name)),
            ),
            (values::<DepositNetwork>(), names([Network::Base.name()])),
            (values::<HoldReason>(), names(GateHold::ALL.map(GateHold::name))),
            (values::<NetworkName>(), names(Network::ALL.map(Network::name))),
            (values::<PaymentApp>(), names(Platform::ALL.map(Platform::name))),
            (values::<PaymentResolution>(), names(resolutions.map(Resolution::name))),
            (values::<ProductName>(), names(ProductLine::ALL.map(ProductLine::name))),
            (values::<StatementLineType>(), names(lines.map(Line::name))),
            (values::<UnfinalHold>(), names([GateHold::PaymentNotFinal.name()])),
            (
                values::<WebhookDisabledReason>(),
                names([DisabledReason::Gone, DisabledReason::Failing].map(DisabledReason::name)),
            ),
            (
                values::<WebhookDroppedReason>(),
                names(dropped.map(DroppedReason::name)),
            ),
        ] {
            assert_eq!(documented, real);
        }
        assert!(values::<PayoutProduct>().is_subset(&values::<ProductName>()));
    }
}

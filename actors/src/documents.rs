//! Schemas of values that several answers have: numbers, text and closed sets. Structs derive their own.
//!
//! Ids, times and addresses are text to clients. They share one name, which the documents write out where it is used.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::answer::{Address, ExactDecimal, NetworkId, Time, UserId};
use crate::id::Network;
use crate::kernel::NamedState;
use crate::{
    currency, engine,
    entity::{
        self, account, agent_wallet, api_key, bank_destination, banking, card, card_withdrawal, discrepancy, gift_card,
        identity_verification, incoming, intl_order, issuer_link, late_return, line, passkey, payment,
        payment_recipient, payout, recovery, refund, reloadable_card, session, spend_approval, top_up, wallet_payment,
        webhook, webhook_delivery, withdrawal,
    },
    id, port, product, reconciliation,
};

impl PartialSchema for ExactDecimal {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(Type::Number).build().into()
    }
}

impl ToSchema for ExactDecimal {}

/// Name of the schema of every type that is just text to clients.
pub const TEXT: &str = "Text";

macro_rules! text {
    ($($type:ty,)+) => {$(
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                ObjectBuilder::new().schema_type(Type::String).build().into()
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(TEXT)
            }
        }
    )+};
}

text! {
    Address, Time, UserId, currency::Country, currency::Currency, port::ExternalText,
    id::AddressId, id::ApiKeyId, id::ApprovalId, id::BankAccountId, id::BankDestinationId, id::BankRecipientId,
    id::BankTransferId, id::BankingApplicationId, id::CardId, id::DepositId, id::DiscrepancyId, id::DocumentId,
    id::EventId, id::JobId, id::LateReturnId, id::OperatorPasskeyId, id::OperatorSessionId, id::OutgoingTransferId, id::PasskeyId, id::PaymentId, id::PaymentRecipientId,
    id::PayoutId, id::RefundId, id::RequestId, id::SessionId, id::SpendApprovalId, id::StatementLineId, id::TopUpId, id::WalletPaymentId,
    id::WebhookDeliveryId, id::WebhookId, id::WithdrawalId, entity::PurchasedProduct,
}

fn closed_set(description: &'static str, values: impl IntoIterator<Item = &'static str>) -> RefOr<Schema> {
    let string = ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(description));
    string.enum_values(Some(values)).build().into()
}

/// `"Status of a card." CardStatus: card::State;` becomes
///
/// ```text
/// impl PartialSchema for card::State { … a string with the names of the states … }
/// impl ToSchema for card::State { … with the name CardStatus … }
/// ```
///
/// A further value follows `or`, and comes first.
macro_rules! states {
    ($($description:literal $name:ident: $state:ty $(, or $more:literal)?;)+) => {$(
        impl PartialSchema for $state {
            fn schema() -> RefOr<Schema> {
                let states = <$state as NamedState>::ALL.iter().map(|state| state.as_str());
                closed_set($description, [$($more)?].into_iter().chain(states))
            }
        }

        impl ToSchema for $state {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

states! {
    "Status of an account." AccountStatus: account::State;
    "Status of a managed wallet." AgentWalletStatus: agent_wallet::State;
    "Status of an API key." ApiKeyStatus: api_key::State;
    "Status of a bank account." BankAccountStatus: banking::account::State;
    "Status of a bank destination." BankDestinationStatus: bank_destination::State;
    "Status of a bank application." BankingApplicationStatus: banking::application::State;
    "Status of a banking profile." BankingProfileState: banking::profile::State;
    "Status of a bank transfer." BankTransferStatus: banking::transfer::State;
    "Detailed status of a withdrawal from a card balance." CardBalanceWithdrawalStatus: card_withdrawal::State;
    "Status of a prepaid card." CardStatus: card::State;
    "Status of a discrepancy." DiscrepancyStatus: discrepancy::State;
    "Status of a gift card." GiftCardStatus: gift_card::State;
    "Status of an identity check." IdentityStatus: identity_verification::State, or "none";
    "Status of an incoming transfer." IncomingTransferStatus: incoming::State;
    "Status of an international card, from its order on." IntlCardStatus: intl_order::State;
    "Status of an account's link to the card issuer." IssuerLinkStatus: issuer_link::State;
    "Status of a late return." LateReturnStatus: late_return::State;
    "Status of a product line." LineStatus: line::State;
    "Status of a passkey." PasskeyStatus: passkey::State, or "suspended";
    "Status of a payment, not of its product." PaymentStatus: payment::State;
    "Status of a payout." PayoutStatus: payout::State;
    "Status of a recipient of app payments." RecipientStatus: payment_recipient::State;
    "Status of a recovery." RecoveryStatus: recovery::State;
    "Status of a refund." RefundStatus: refund::State;
    "Status of a reloadable card." ReloadableCardStatus: reloadable_card::State;
    "Status of a session." SessionStatus: session::State;
    "Status of a spend over a limit of the account owner." ApprovalStatus: spend_approval::State;
    "Status of a top-up." TopUpStatus: top_up::State;
    "Status of a wallet payment." WalletPaymentStatus: wallet_payment::State;
    "Status of a delivery." WebhookDeliveryStatus: webhook_delivery::State;
    "Status of a webhook endpoint." WebhookStatus: webhook::State;
    "State of a withdrawal." WithdrawalState: withdrawal::State;
}

/// As [`states!`], for sets whose names are given.
macro_rules! names {
    ($($description:literal $name:ident: $type:ty = $names:expr;)+) => {$(
        impl PartialSchema for $type {
            fn schema() -> RefOr<Schema> {
                closed_set($description, $names)
            }
        }

        impl ToSchema for $type {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )+};
}

names! {
    "Action on a card." CardAction: port::CardAction = port::CardAction::ALL.map(port::CardAction::name);
    "CAIP-2 name of a network on which this service settles." NetworkId: NetworkId = Network::ALL.map(Network::caip2);
    "Direction of a bank transaction." BankTransactionDirection: banking::transfer::TransferDirection
        = ["incoming", "to_account", "to_balance", "outgoing"];
    "Kind of a discrepancy." DiscrepancyKindName: reconciliation::DiscrepancyKind
        = reconciliation::DiscrepancyKind::ALL.map(reconciliation::DiscrepancyKind::name);
    "Kind of a transfer of a top-up." TopUpLegKind: top_up::LegKind = ["burn", "mint", "transfer"];
    "Network of a transfer." NetworkName: Network = Network::ALL.map(Network::name);
    "Payment app." PaymentApp: port::payouts::Platform = port::payouts::Platform::ALL.map(port::payouts::Platform::name);
    "Product, as in `GET /get-pricing`." ProductName: product::ProductLine
        = product::ProductLine::ALL.map(product::ProductLine::name);
    "Reason of a disabled webhook endpoint." WebhookDisabledReason: webhook::DisabledReason
        = [webhook::DisabledReason::Gone, webhook::DisabledReason::Failing].map(webhook::DisabledReason::name);
    "Reason of a dropped delivery." WebhookDroppedReason: webhook_delivery::DroppedReason
        = ["endpoint_disabled", "endpoint_deleted", "event_expired"];
    "Reason of a hold." HoldReason: engine::GateHold = engine::GateHold::ALL.map(engine::GateHold::name);
    "Why a spend counts as declined without the owner's decision." DeclineReason: spend_approval::DeclineReason
        = spend_approval::DeclineReason::ALL.map(spend_approval::DeclineReason::name);
    "What an agent does with the owner's money." SpendKind: spend_approval::SpendKind
        = spend_approval::SpendKind::ALL.map(spend_approval::SpendKind::name);
    "Limit of the account owner." SpendLimitName: spend_approval::SpendLimit
        = spend_approval::SpendLimit::ALL.map(spend_approval::SpendLimit::name);
    "Source of external records." ReconciliationSourceName: reconciliation::ReconciliationSource
        = reconciliation::ReconciliationSource::ALL.map(reconciliation::ReconciliationSource::name);
    "Status of a card transaction." CardTransactionStatus: port::TransactionStatus
        = port::TransactionStatus::ALL.map(port::TransactionStatus::name);
    "Type of a bank account." BankAccountType: port::banking::AccountType = ["onramp", "offramp"];
    "Type of a customer of the bank." CustomerType: banking::profile::CustomerType = ["individual", "business"];
    "Type of a recipient's bank account." BankDestinationType: bank_destination::DestinationType
        = ["fiat_us", "fiat_iban"];
    "What cancelled a recovery." RecoveryCancelledBy: recovery::CancelledBy
        = recovery::CancelledBy::ALL.map(recovery::CancelledBy::name);
    "What happened to the transfer of a payment that is `resolved`." PaymentResolution: payment::Resolution
        = ["returned", "forwarded", "other"];
    "Change of the balance." StatementLineType: account::StatementLineType
        = ["credited", "held", "withdrawn", "released", "debited", "held_unfinal", "reversed"];
}

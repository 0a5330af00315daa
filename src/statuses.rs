//! Closed sets of values in responses: statuses, reasons and names.

use std::collections::BTreeSet;

use purser_actors::entity::PRODUCTS;
use purser_actors::entity::banking::application::BankingApplication;
use purser_actors::entity::banking::profile::BankingProfile;
use purser_actors::kernel::StateMachine;
use purser_actors::kernel::chart::Chart;
use serde::{Deserialize, Serialize};

pub use purser_actors::engine::GateHold as HoldReason;
pub use purser_actors::entity::account::{State as AccountStatus, StatementLineType};
pub use purser_actors::entity::agent_wallet::State as AgentWalletStatus;
pub use purser_actors::entity::api_key::State as ApiKeyStatus;
pub use purser_actors::entity::bank_destination::{
    DestinationType as BankDestinationType, State as BankDestinationStatus,
};
pub use purser_actors::entity::banking::account::State as BankAccountStatus;
pub use purser_actors::entity::banking::application::State as BankingApplicationStatus;
pub use purser_actors::entity::banking::profile::{CustomerType, State as BankingProfileState};
pub use purser_actors::entity::banking::transfer::{
    BankTransactionType, TransferDirection as BankTransactionDirection,
};
pub use purser_actors::entity::card::{PrepaidCardType, State as CardStatus};
pub use purser_actors::entity::card_withdrawal::State as CardBalanceWithdrawalStatus;
pub use purser_actors::entity::gift_card::{GiftCardType, State as GiftCardStatus};
pub use purser_actors::entity::identity_verification::State as IdentityStatus;
pub use purser_actors::entity::intl_order::{IntlCardType, State as IntlCardStatus};
pub use purser_actors::entity::issuer_link::State as IssuerLinkStatus;
pub use purser_actors::entity::late_return::State as LateReturnStatus;
pub use purser_actors::entity::passkey::State as PasskeyStatus;
pub use purser_actors::entity::payment::{Resolution as PaymentResolution, State as PaymentStatus};
pub use purser_actors::entity::payment_recipient::State as RecipientStatus;
pub use purser_actors::entity::payout::{PayoutProduct, State as PayoutStatus};
pub use purser_actors::entity::recovery::{CancelledBy as RecoveryCancelledBy, State as RecoveryStatus};
pub use purser_actors::entity::refund::State as RefundStatus;
pub use purser_actors::entity::reloadable_card::{ReloadableCardType, State as ReloadableCardStatus};
pub use purser_actors::entity::session::{SessionEndReason, State as SessionStatus};
pub use purser_actors::entity::spend_approval::{
    DeclineReason, SpendKind, SpendLimit as SpendLimitName, State as ApprovalStatus,
};
pub use purser_actors::entity::top_up::{DepositNetwork, LegKind as TopUpLegKind, State as TopUpStatus};
pub use purser_actors::entity::wallet_payment::{State as WalletPaymentStatus, WalletPaymentKind};
pub use purser_actors::entity::webhook::{DisabledReason as WebhookDisabledReason, State as WebhookStatus};
pub use purser_actors::entity::webhook_delivery::{
    DroppedReason as WebhookDroppedReason, State as WebhookDeliveryStatus,
};
pub use purser_actors::entity::withdrawal::{State as WithdrawalState, WithdrawalSource};
pub use purser_actors::id::Network as NetworkName;
pub use purser_actors::port::banking::AccountType as BankAccountType;
pub use purser_actors::port::payouts::Platform as PaymentApp;
pub use purser_actors::port::{CardAction, TransactionStatus as CardTransactionStatus};
pub use purser_actors::product::ProductLine as ProductName;

/// `closed_set! { "Status of a card." CardStatus = values }` becomes
///
/// ```text
/// /// Status of a card.
/// #[derive(Serialize)]
/// pub struct CardStatus(&'static str);
/// impl CardStatus { fn values() -> Vec<&'static str> { values } }
/// impl PartialSchema for CardStatus { … a string with these values … }
/// impl ToSchema for CardStatus {}
/// impl Deserialize for CardStatus { … one of these values … }
/// ```
macro_rules! closed_set {
    ($description:literal $vis:vis $name:ident = $values:expr) => {
        #[doc = $description]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
        $vis struct $name(&'static str);

        impl $name {
            fn values() -> Vec<&'static str> {
                $values
            }
        }

        #[cfg(feature = "documents")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                use utoipa::openapi::schema::{ObjectBuilder, Type};
                let string = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some($description));
                string.enum_values(Some(Self::values())).build().into()
            }
        }

        #[cfg(feature = "documents")]
        impl utoipa::ToSchema for $name {}

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <String as serde::Deserialize>::deserialize(deserializer)?;
                let known = Self::values().into_iter().find(|known| *known == value);
                known
                    .map(Self)
                    .ok_or_else(|| serde::de::Error::custom(format!("no such value: {value}")))
            }
        }
    };
}
pub(crate) use closed_set;

/// `"Network of a transfer." NetworkName: Network = Network::ALL, Network::name;` becomes a [`closed_set`] of these names,
/// and
///
/// ```text
/// impl From<Network> for NetworkName { … its name … }
/// ```
macro_rules! named_values {
    ($($description:literal $vis:vis $name:ident: $of:ty = $all:expr, $name_of:expr;)*) => {$(
        $crate::statuses::closed_set! { $description $vis $name = $all.into_iter().map($name_of).collect() }

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                Self(($name_of)(value))
            }
        }
    )*};
}
pub(crate) use named_values;

/// `"Status of a fulfilled order." ReadyStatus: State [Ready];` becomes [`named_values`] of these states.
macro_rules! state_subsets {
    ($($description:literal $vis:vis $name:ident: $state:ty [$($variant:ident),+];)+) => {$(
        $crate::statuses::named_values! {
            $description $vis $name: $state = [$(<$state>::$variant),+], <$state>::as_str;
        }
    )+};
}
pub(crate) use state_subsets;

/// Enums of the states of entities: description, name, further values, entities.
macro_rules! entity_states {
    ($($description:literal $name:ident: [$($more:literal)?] $($entity:ty),+;)+) => {$(
        $crate::statuses::closed_set! {
            $description pub $name = $crate::statuses::merged_states(&[$($more)?], &[$(<$entity>::CHART),+])
        }
    )+};
}
closed_set! { "Status of any product that a payment can buy." pub ProductStatus = product_states() }

/// The states of every product, in the order of the products' fields in a payment.
fn product_states() -> Vec<&'static str> {
    let mut products: Vec<_> = PRODUCTS.iter().map(|product| (product.field, product.chart)).collect();
    products.sort_unstable_by_key(|(field, _)| *field);
    let charts: Vec<_> = products.into_iter().map(|(_, chart)| chart).collect();
    merged_states(&[], &charts)
}

/// Further values and the states of these charts, each once.
pub(crate) fn merged_states(more: &[&'static str], charts: &[&'static Chart]) -> Vec<&'static str> {
    let states = charts.iter().flat_map(|chart| chart.states);
    let mut known = BTreeSet::new();
    more.iter()
        .chain(states)
        .copied()
        .filter(|state| known.insert(*state))
        .collect()
}

entity_states! {
    "Status of the bank application, if there is one." BankingApplicationProgress: ["none"] BankingApplication;
    "Whether there is a banking profile." BankingState: ["none"] BankingProfile;
}

/// Status of a reloadable card in the response to its creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CreatedCardStatus {
    Open,
    /// The issuer has not answered yet.
    Creating,
}

/// Status change of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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

/// Status of a listed recipient of app payments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PaymentRecipientStatus {
    Active,
    Archived,
}

/// Reason of a hold that lasts until a payment is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum UnfinalHold {
    HeldUnfinal,
}

/// Status of a wallet payment, with one value for every pending one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WalletPaymentProgress {
    Settled,
    Pending,
    Failed,
    Unsettled,
}

/// Status of a payment or transfer that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AgentPaymentStatus {
    Settled,
    Pending,
    /// The server asked for no payment.
    Free,
}

/// Type of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BankingDocumentType {
    ProofOfAddress,
    FormationDocument,
    Other,
}

/// Status of a transfer or a bank payout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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

/// Status in lists that have no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ActiveStatus {
    Active,
}

/// Status of a new push to card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AwaitingDetailsStatus {
    AwaitingDetails,
}

/// Status after a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ClaimedStatus {
    Claimed,
}

/// Status of a purchase whose charge was credited to the balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CreditedStatus {
    Credited,
}

/// Status of a new top-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PaidStatus {
    Paid,
}

/// Status of a new resource that is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PendingStatus {
    Pending,
}

/// Status of a new gift card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ProcessingStatus {
    Processing,
}

/// Status of a new order or payout that is queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum QueuedStatus {
    Queued,
}

/// Status of a payment whose outcome is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SettlementPendingStatus {
    SettlementPending,
}

/// Status of a spend that waits for the account owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ApprovalRequiredStatus {
    ApprovalRequired,
}

#[cfg(test)]
pub(crate) mod tests {
    use purser_actors::engine::GateHold;
    use purser_actors::entity::account;
    use purser_actors::entity::bank_destination::{self, BankDestination};
    use purser_actors::entity::banking::application::DocumentType;
    use purser_actors::entity::banking::transfer::{BankTransfer, TransferDirection};
    use purser_actors::entity::card::Card;
    use purser_actors::entity::card::lifecycle::LifecycleChange;
    use purser_actors::entity::card_withdrawal::CardWithdrawal;
    use purser_actors::entity::gift_card::GiftCard;
    use purser_actors::entity::intl_order::IntlOrder;
    use purser_actors::entity::payment::Payment;
    use purser_actors::entity::payment::Resolution;
    use purser_actors::entity::payment_recipient::PaymentRecipient;
    use purser_actors::entity::payout::Payout;
    use purser_actors::entity::reloadable_card::CardHistoryEntry;
    use purser_actors::entity::reloadable_card::ReloadableCard;
    use purser_actors::entity::top_up::TopUp;
    use purser_actors::entity::wallet_payment::WalletPayment;
    use purser_actors::entity::webhook::DisabledReason;
    use purser_actors::entity::webhook_delivery::DroppedReason;
    use purser_actors::entity::withdrawal::Withdrawal;
    use purser_actors::id::Network;
    use purser_actors::port::banking::AccountType;
    use purser_actors::port::payouts::Platform;
    use purser_actors::product::ProductLine;
    use serde_json::{Value, json};
    #[cfg(feature = "documents")]
    use utoipa::PartialSchema;

    use super::*;

    pub(crate) type Names = BTreeSet<String>;

    /// Values of an enum, as the documents have them.
    pub(crate) fn values<T: PartialSchema>() -> Names {
        let schema = json!(T::schema());
        let values = schema["enum"].as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// States of a state machine.
    pub(crate) fn states<E: StateMachine>() -> Names {
        names(E::CHART.states.iter().copied())
    }

    pub(crate) fn names<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
        names.into_iter().map(str::to_owned).collect()
    }

    fn with(mut all: Names, more: &str) -> Names {
        all.insert(more.to_owned());
        all
    }

    // Checks: an enum of an entity has its states, in their order and with what is added to them, and reads no other.
    #[test]
    fn enums_have_the_states_of_their_entities() {
        let schema = json!(BankingState::schema());
        assert_eq!(schema["enum"], json!(["none", "open"]));
        let products = values::<ProductStatus>();
        assert!(states::<Payout>().is_subset(&products) && states::<TopUp>().is_subset(&products));
        assert_eq!(values::<PayoutStatus>(), states::<Payout>());
        assert!(serde_json::from_value::<BankingState>(json!("open")).is_ok());
        assert!(serde_json::from_value::<BankingState>(json!("ready")).is_err());
    }

    // Checks: an enum that shows several state machines has the states of all, except those that can't occur there.
    #[test]
    fn combined_enums_have_the_states_of_all_machines() {
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
                values::<CardStatusChange>(),
                names(card_events.into_iter().chain(reloadable_events)),
            ),
            (values::<DepositNetwork>(), names([Network::Base.name()])),
            (values::<PaymentApp>(), names(Platform::ALL.map(Platform::name))),
            (values::<PaymentResolution>(), names(resolutions.map(Resolution::name))),
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
        assert!(values::<PayoutProduct>().is_subset(&names(ProductLine::ALL.map(ProductLine::name))));
    }
}

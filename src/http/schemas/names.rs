//! Closed sets of names that the code has already, for the documents.

use purser_actors::engine::{GateHold, JOB_NAMES};
use purser_actors::id::Network;
use purser_actors::port::{CardAction as ActionOnCard, TransactionStatus};
use purser_actors::product::ProductLine;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::super::cards::CARD_TYPES;
use super::super::error::ErrorCode;
use crate::provider::merchants::{Acceptance, CardType};

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

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                use utoipa::openapi::schema::{ObjectBuilder, Type};
                let string = ObjectBuilder::new()
                    .schema_type(Type::String)
                    .description(Some($description));
                string.enum_values(Some(Self::values())).build().into()
            }
        }

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
pub(in crate::http) use closed_set;

/// `"Network of a transfer." NetworkName: Network = Network::ALL, Network::name;` becomes a [`closed_set`] of these names,
/// and
///
/// ```text
/// impl From<Network> for NetworkName { … its name … }
/// ```
macro_rules! named_values {
    ($($description:literal $vis:vis $name:ident: $of:ty = $all:expr, $name_of:expr;)*) => {$(
        $crate::http::schemas::names::closed_set! { $description $vis $name = $all.into_iter().map($name_of).collect() }

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                Self(($name_of)(value))
            }
        }
    )*};
}
pub(in crate::http) use named_values;

/// `"Status of a fulfilled order." ReadyStatus: State [Ready];` becomes [`named_values`] of these states.
macro_rules! state_subsets {
    ($($description:literal $vis:vis $name:ident: $state:ty [$($variant:ident),+];)+) => {$(
        $crate::http::schemas::names::named_values! {
            $description $vis $name: $state = [$(<$state>::$variant),+], <$state>::as_str;
        }
    )+};
}
pub(in crate::http) use state_subsets;

named_values! {
    "Action on a card." pub CardAction: ActionOnCard = ActionOnCard::ALL, ActionOnCard::name;
    "Status of a card transaction." pub CardTransactionStatus: TransactionStatus
        = TransactionStatus::ALL, TransactionStatus::name;
    "Reason of a hold." pub HoldReason: GateHold = GateHold::ALL, GateHold::name;
    "Network of a transfer." pub NetworkName: Network = Network::ALL, Network::name;
    "Product, as in `GET /get-pricing`." pub ProductName: ProductLine = ProductLine::ALL, ProductLine::name;
}

/// `JobTypeName: "Type of a job." = JOB_NAMES;` becomes
///
/// ```text
/// /// Type of a job.
/// pub struct JobTypeName;
/// impl PartialSchema for JobTypeName { … a string with the values of JOB_NAMES … }
/// impl ToSchema for JobTypeName {}
/// ```
macro_rules! name_schemas {
    ($($name:ident: $description:literal = $values:expr;)*) => {$(
        #[doc = $description]
        pub struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let string = ObjectBuilder::new().schema_type(Type::String).description(Some($description));
                string.enum_values(Some($values)).build().into()
            }
        }

        impl ToSchema for $name {}
    )*};
}

name_schemas! {
    CallMethod: "HTTP method of a call." = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    CardTypeName: "Type of a card." = CARD_TYPES;
    ChargeOutcome: "Outcome of a charge." = ["settled", "refunded"];
    ChargeStatus: "Status of a charge." = ["settled", "pending", "declined"];
    ErrorCodeName: "Code of an error." = ErrorCode::ALL.iter().map(|code| code.as_str());
    EventOrder: "Order of events." = ["asc", "desc"];
    GrantType: "Grant type of a token request." = ["refresh_token"];
    JobTypeName: "Type of a job." = JOB_NAMES;
    MerchantCardType: "Type of a card that merchants accept." = CardType::ALL.map(CardType::name);
    MerchantStatus: "Whether a merchant accepts a card."
        = [Acceptance::Accepted, Acceptance::NotAccepted, Acceptance::Unknown].map(Acceptance::name);
    NetworkId: "CAIP-2 name of a network on which this service settles." = Network::ALL.map(Network::caip2);
    NetworkNameOrId: "Name of a network, or its CAIP-2 name."
        = Network::ALL.map(Network::name).into_iter().chain(Network::ALL.map(Network::caip2));
    OkStatus: "Always `ok`." = ["ok"];
    PaymentScheme: "Payment scheme of x402." = ["exact"];
    PurchaseFormat: "Format of the response." = ["json", "html"];
    ReportedStatus: "Status of a card in a report." = ["ready", "paused", "closed"];
    ServiceMode: "Mode of the service." = ["sandbox", "production"];
}

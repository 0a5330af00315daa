//! Closed sets of names that the code has already, for the documents.

use purser_actors::engine::JOB_NAMES;
use purser_actors::id::Network;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use super::super::cards::CARD_TYPES;
use super::super::error::ErrorCode;
use super::super::list_order::ORDERS;
use super::super::statement::STATEMENTS;
use crate::provider::merchants::{Acceptance, CardType};

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
    ChallengeCode: "Code of a challenge."
        = [ErrorCode::PaymentRequired, ErrorCode::PaymentInvalid, ErrorCode::SignInRequired].map(|code| code.as_str());
    CardTypeName: "Type of a card." = CARD_TYPES;
    ChargeOutcome: "Outcome of a charge." = ["settled", "refunded"];
    ChargeStatus: "Status of a charge." = ["settled", "pending", "declined"];
    EventOrder: "Order of events." = ["asc", "desc"];
    ListOrder: "Order of a list." = ORDERS;
    StatementName: "What a statement is of." = STATEMENTS;
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
    SettlementFailureCode: "Code of a payment that failed." = [ErrorCode::SettlementFailed.as_str()];
    ServiceMode: "Mode of the service." = ["sandbox", "production"];
}

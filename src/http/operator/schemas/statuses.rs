//! Closed sets of values that only operators see.

use purser_actors::discrepancy::Discrepancy;
use purser_actors::incoming::Incoming;
use purser_actors::kernel::StateMachine;
use purser_actors::line::LineState;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::http::schemas::statuses::entity_states;

entity_states! {
    "Status of a discrepancy." DiscrepancyStatus: [] Discrepancy;
    "Status of an incoming transfer." IncomingTransferStatus: [] Incoming;
    "Status of a product line." LineStatus: [] LineState;
}

/// Action that needs a second operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalAction {
    CreditBack,
    Resolve,
    RejectIntl,
    PayCardWithdrawal,
    CreditTransfer,
    ReturnTransfer,
    BookLoss,
    BookOrder,
    BookOutlay,
}

/// Status of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    Waiting,
    /// And executed.
    Approved,
    Rejected,
}

/// Kind of a discrepancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscrepancyKindName {
    UnexpectedAtProvider,
    MissingAtProvider,
    AmountMismatch,
    StatusMismatch,
    UnmatchedDeposit,
    MissingDeposit,
    UnmatchedTransfer,
    MissingTransfer,
}

/// Reason of a hold until an account is unfrozen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrozenHold {
    HeldFrozen,
}

/// Action on a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobAction {
    Retry,
    ResolveCompleted,
    ResolveNotCompleted,
    Credit,
    Keep,
}

/// Outcome recorded by an operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobOutcome {
    Completed,
    NotCompleted,
}

/// Status in a queue that operators claim from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OpenStatus {
    Queued,
    Claimed,
}

/// Role of an operator token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorRole {
    Administrator,
    Operator,
    Support,
    ReadOnly,
}

/// Direction of the money of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OrderDirection {
    /// We paid for it.
    Out,
    /// It came from an owner's bank account.
    In,
}

/// Status at a provider or on a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProviderStatus {
    NotSubmitted,
    Pending,
    Held,
    Completed,
    Declined,
    Returned,
}

/// Status of a fulfilled order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadyStatus {
    Ready,
}

/// Source of external records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReconciliationSourceName {
    Base,
    Solana,
    Cards,
    GiftCards,
    Payouts,
    BankTransfers,
    BankDeposits,
    ReloadableCards,
    CardBalances,
    Bridge,
    PrepaidRemainders,
}

/// Status of an order that was released or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleasedOrderStatus {
    Queued,
    Rejected,
}

/// Status of a withdrawal that was released, fulfilled or rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReleasedWithdrawalStatus {
    Queued,
    Complete,
    Rejected,
}

/// Status of an international card after a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReportedCardStatus {
    Ready,
    Paused,
    Closed,
    Expired,
}

/// Place of an operator token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokenSource {
    Settings,
    /// Created by an administrator.
    Store,
}

/// List of orders at a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UntrackedOrderList {
    Payouts,
    BankTransfers,
}

/// Status of an international card that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsableCardStatus {
    Ready,
    Paused,
}

#[cfg(test)]
mod tests {
    use purser_actors::card_withdrawal::CardWithdrawal;
    use purser_actors::engine::GateHold;
    use purser_actors::intl_order::IntlOrder;
    use purser_actors::operator::Role;
    use purser_actors::reconciliation::{DiscrepancyKind, EntryStatus, ReconciliationSource};

    use super::*;
    use crate::http::schemas::statuses::tests::{names, states, values};

    // Checks: an enum for a part of a state machine has only its states.
    #[test]
    fn partial_enums_have_only_states_of_the_state_machine() {
        for (documented, real) in [
            (values::<OpenStatus>(), states::<IntlOrder>()),
            (values::<OpenStatus>(), states::<CardWithdrawal>()),
            (values::<ReadyStatus>(), states::<IntlOrder>()),
            (values::<ReleasedOrderStatus>(), states::<IntlOrder>()),
            (values::<ReleasedWithdrawalStatus>(), states::<CardWithdrawal>()),
            (values::<ReportedCardStatus>(), states::<IntlOrder>()),
            (values::<UsableCardStatus>(), states::<IntlOrder>()),
        ] {
            assert!(!documented.is_empty());
            assert!(documented.is_subset(&real), "{documented:?}: {real:?}");
        }
    }

    // Checks: an enum that is not of a state machine has the names that the service uses.
    #[test]
    fn enums_have_the_names_that_the_service_uses() {
        let statuses = [
            EntryStatus::NotSubmitted,
            EntryStatus::Pending,
            EntryStatus::Held,
            EntryStatus::Completed,
            EntryStatus::Declined,
            EntryStatus::Returned,
        ];
        let lists = [ReconciliationSource::Payouts, ReconciliationSource::BankTransfers];
        for (documented, real) in [
            (
                values::<DiscrepancyKindName>(),
                names(DiscrepancyKind::ALL.map(DiscrepancyKind::name)),
            ),
            (values::<FrozenHold>(), names([GateHold::AccountFrozen.name()])),
            (values::<OperatorRole>(), names(Role::ALL.map(Role::name))),
            (values::<ProviderStatus>(), names(statuses.map(EntryStatus::name))),
            (
                values::<ReconciliationSourceName>(),
                names(ReconciliationSource::ALL.map(ReconciliationSource::name)),
            ),
            (
                values::<UntrackedOrderList>(),
                names(lists.map(ReconciliationSource::name)),
            ),
        ] {
            assert_eq!(documented, real);
        }
    }
}

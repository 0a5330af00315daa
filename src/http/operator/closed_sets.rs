//! Closed sets of values in the answers of several areas, from the enums and the tables of the engine.

use purser_actors::engine::charts;
use purser_actors::entity::card_withdrawal;
use purser_actors::entity::intl_order;
use purser_actors::entity::passkey;
use purser_actors::kernel::{EntityKind, NamedState as _};
use purser_actors::operator::Role;
use purser_actors::reconciliation::EntryStatus;

use crate::http::schemas::statuses::merged_states;
use crate::statuses::{closed_set, named_values, state_subsets};

named_values! {
    "Kind of an entity." pub(super) EntityKindName: EntityKind = EntityKind::ALL, EntityKind::name;
    "Role of an operator token." pub(super) OperatorRole: Role = Role::ALL, Role::name;
    "Status at a provider or on a chain." pub(super) ProviderStatus: EntryStatus = EntryStatus::ALL, EntryStatus::name;
}

state_subsets! {
    "Status in a queue that operators claim from." pub(super) OpenStatus: intl_order::State [Queued, Claimed];
}

impl From<card_withdrawal::State> for OpenStatus {
    fn from(state: card_withdrawal::State) -> Self {
        Self(state.as_str())
    }
}

closed_set! {
    "Status of an entity of any kind." pub(super) ResourceStatus = {
        let charts: Vec<_> = charts().into_iter().map(|(_, chart)| chart).collect();
        merged_states(&[passkey::SUSPENDED], &charts)
    }
}

impl From<&'static str> for ResourceStatus {
    fn from(state: &'static str) -> Self {
        debug_assert!(Self::values().contains(&state), "no entity is {state}");
        Self(state)
    }
}

#[cfg(test)]
mod tests {
    use purser_actors::entity::card_withdrawal::CardWithdrawal;

    use super::*;
    use crate::http::schemas::statuses::tests::{states, values};

    // Checks: withdrawals that operators can claim have the same statuses as such orders.
    #[test]
    fn both_queues_have_the_same_statuses() {
        assert!(values::<OpenStatus>().is_subset(&states::<CardWithdrawal>()));
    }
}

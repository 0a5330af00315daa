//! All entity registries of the engine, from the list of entities.

use std::sync::Arc;

use purser_storage::Store;
use ractor::{ActorCell, SpawnErr};

use super::customers::CustomerResource;
use super::jobs::table::JobKind;
use super::stats::{EntityStats, EntitySupervisorInfo};
use crate::entity::entities;
use crate::kernel::chart::Chart;
use crate::kernel::entity::EntityId;
use crate::kernel::registry::{EntityDeps, LoadError};
use crate::kernel::{Entity, EntityKind, EntityRegistry, StateMachine, event_record};

macro_rules! define_registries {
    ($($field:ident: $entity:ty $(=> $job:ty)?,)*) => {
        /// One registry of each kind.
        #[derive(Clone)]
        pub(super) struct Registries {
            pub(super) store: Arc<dyn Store>,
            $(pub(super) $field: EntityRegistry<$entity>,)*
        }

        /// Every event type that clients can subscribe to, sorted: `<resource>.<change>`.
        pub fn event_types() -> Vec<String> {
            let mut types = Vec::new();
            $(if !<$entity as Entity>::SYSTEM_OWNED {
                let names = <$entity>::CHART.event_names().into_iter();
                types.extend(names.map(|name| event_record::event_type(<$entity>::KIND.name(), name)));
            })*
            types.sort_unstable();
            types
        }

        /// Every entity's name and chart.
        pub fn charts() -> Vec<(&'static str, &'static Chart)> {
            vec![$((<$entity>::KIND.name(), <$entity>::CHART)),*]
        }

        /// The jobs of each kind that has some.
        pub(super) const JOB_KINDS: &[JobKind] = &[$($(JobKind::of::<$job>(),)?)*];

        impl Registries {
            /// Every kind, in the order of the fields.
            pub(super) const KINDS: &'static [EntityKind] = &[$(<$entity as Entity>::KIND),*];

            /// Starts each registry with its supervisor under `root`.
            pub(super) async fn start(deps: &EntityDeps, root: &ActorCell) -> Result<Self, SpawnErr> {
                Ok(Self {
                    store: deps.store.clone(),
                    $($field: EntityRegistry::start(deps.clone(), root.clone()).await?,)*
                })
            }

            /// Passivates idle entities.
            pub(super) fn sweep(&self) {
                $(self.$field.passivate_idle();)*
            }

            /// Every entity with this id, of any kind. A wallet names an account and the owner's single entities.
            pub(super) async fn find_by_id(&self, text: &str) -> Result<Vec<CustomerResource>, LoadError> {
                let mut resources = Vec::new();
                $(if let Ok(id) = text.parse::<<$entity as Entity>::Id>()
                    && let Some((one, _)) = self.$field.read(&id).await?
                {
                    resources.push(CustomerResource::from_entity(&id, &one));
                })*
                Ok(resources)
            }

            /// The entity in the row of this kind and this part of a key.
            pub(super) async fn list_after(&self, kind: u8, key: &[u8]) -> Result<Option<CustomerResource>, LoadError> {
                $(if kind == <$entity as Entity>::KIND as u8
                    && let Some(id) = <<$entity as Entity>::Id as EntityId>::from_key(key)
                {
                    let read = self.$field.read(&id).await?;
                    return Ok(read.map(|(one, _)| CustomerResource::from_entity(&id, &one)));
                })*
                Ok(None)
            }

            /// Text of an id in the key of a row of this kind.
            pub(super) fn id_text(kind: u8, key: &[u8]) -> Option<String> {
                $(if kind == <$entity as Entity>::KIND as u8 {
                    return <<$entity as Entity>::Id as EntityId>::from_key(key).map(|id| id.to_string());
                })*
                None
            }

            /// Statistics of each kind, in the order of [`Registries::KINDS`].
            pub(super) fn entity_stats(&self) -> Vec<EntityStats> {
                vec![$(EntityStats::from_registry(&self.$field)),*]
            }

            /// Supervisors and actors of each kind, in the same order.
            pub(super) fn supervisor_states(&self) -> Vec<EntitySupervisorInfo> {
                vec![$(EntitySupervisorInfo::from_registry(&self.$field)),*]
            }
        }
    };
}

entities!(define_registries);

#[cfg(test)]
mod tests {
    use super::event_types;
    use crate::kernel::event_actor;

    // Checks: every event type names who causes it when no request does.
    #[test]
    fn every_event_type_has_an_actor() {
        let types = event_types();
        assert!(types.len() > 150);
        let missing: Vec<_> = types
            .iter()
            .filter(|kind| event_actor::of_type(kind).is_none())
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
    }
}

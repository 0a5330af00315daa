//! The generic engine: the entity trait, the entity actor that runs any entity, the registries, the supervisors above
//! them, and the outbox.

pub mod answers;
mod ask;
pub mod audit_log;
pub mod chart;
pub mod context;
pub mod decision;
pub mod entity;
mod entity_actor;
pub mod event_actor;
pub mod event_record;
pub mod idempotency;
pub mod job;
pub mod json_object;
pub mod outbox;
pub mod registry;
pub mod request_context;
pub mod root_supervisor;
mod stored_view;
pub mod table;
pub mod timer;
mod words;

pub use chart::{NamedState, StateMachine};
pub use context::Context;
pub use decision::Decision;
pub use entity::{AskError, Entity, EntityId, EntityKind, InvalidTransition, NewEntity};
pub use idempotency::IdempotencyRecorder;
pub use job::{AttemptFailure, OutboxJob};
pub use json_object::{JsonObject, sanitize_text, to_json};
pub use registry::EntityRegistry;

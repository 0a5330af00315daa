//! The engine proper: what an entity is, the one shell that runs any of them, the directory that finds them,
//! the supervisors above them, and the durable effects that leave them.

pub mod audit_log;
pub mod context;
pub mod decision;
pub mod outbox;
pub mod job;
pub mod entity;
pub mod registry;
pub mod idempotency;
pub mod request_context;
pub mod event_record;
pub mod root_supervisor;
pub mod entity_actor;
pub mod table;
pub mod timer;
pub mod json_object;

pub use context::Context;
pub use decision::Decision;
pub use job::{OutboxJob, AttemptFailure};
pub use entity::{Entity, EntityId, EntityKind, NewEntity, InvalidTransition, AskError};
pub use registry::EntityRegistry;
pub use idempotency::IdempotencyRecorder;
pub use json_object::{JsonObject, sanitize_text};

//! The engine proper: what an entity is, the one shell that runs any of them, the directory that finds them,
//! the supervisors above them, and the durable effects that leave them.

pub mod audit;
pub mod context;
pub mod decision;
pub mod delivery;
pub mod effect;
pub mod entity;
pub mod family;
pub mod memo;
pub mod origin;
pub mod record;
pub mod root;
pub mod shell;
pub mod table;
pub mod timer;
pub mod view;

pub use context::Context;
pub use decision::Decision;
pub use effect::{Effect, Failure};
pub use entity::{Entity, EntityId, Kind, Opening, OutOfOrder, Refusal};
pub use family::Family;
pub use memo::Memo;
pub use view::{View, inert};

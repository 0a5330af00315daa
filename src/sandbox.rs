//! Shared parts of the sandbox's chains and providers: their files, their published keys, and the control API.
//!
//! Nothing here is reachable outside the sandbox: [`keys::reject_outside_sandbox`] prevents the start when a real
//! configuration names one of the published keys.

pub(crate) mod archive;
pub mod chains;
pub mod clock;
pub mod control;
pub mod record_log;

pub use purser_protocol::sandbox_keys as keys;

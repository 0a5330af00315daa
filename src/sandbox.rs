//! What the sandbox's chains and providers share: their files, their published keys, and the desk that steers them.
//!
//! Nothing here is reachable outside the sandbox: [`keys::refuse_outside_sandbox`] stops the start when a real
//! configuration names one of the published keys.

pub(crate) mod archive;
pub mod clock;
pub mod control;
pub mod keys;
pub mod record_log;

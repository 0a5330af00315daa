//! Shared parts of the sandbox's chains and providers: their journal, and their published keys.
//!
//! Nothing here is reachable outside the sandbox: [`keys::reject_outside_sandbox`] prevents the start when a real
//! configuration names one of the published keys.

pub mod chains;
pub mod clock;
pub mod faults;
pub mod records;
pub mod state;
pub mod store;
#[cfg(any(test, feature = "test-support"))]
pub mod test_store;

pub use purser_protocol::sandbox_keys as keys;

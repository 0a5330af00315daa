//! Bugs that a test can switch on, to see whether the simulator objects.
//!
//! They exist only in a debug build with the feature `planted`, which nothing but the root package's tests turns on.
//! In every other build [`is`] is a constant `false`, and what stands behind it is compiled away. One bug is active in
//! one thread: a simulation is one thread, so the tests beside it run sound code.

/// Every bug that can be planted, here and in the engine, which has no list of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The committer answers without having synced.
    AnswerBeforeSync,
    /// Effects that were open when the process ended are not taken up by the next one.
    EffectsForgotten,
}

impl Bug {
    /// All of them.
    pub const ALL: &[Self] = &[Self::AnswerBeforeSync, Self::EffectsForgotten];
}

#[cfg(all(feature = "planted", debug_assertions))]
mod active {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Whether this thread runs with the bug.
    pub fn is(bug: Bug) -> bool {
        PLANTED.get() == Some(bug)
    }

    /// Plants a bug in this thread, or pulls it out again.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.set(bug);
    }
}

#[cfg(all(feature = "planted", debug_assertions))]
pub use active::{is, plant};

/// No bug is ever planted in this build.
#[cfg(not(all(feature = "planted", debug_assertions)))]
pub const fn is(_: Bug) -> bool {
    false
}

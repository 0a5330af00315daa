//! Values of an order that force an outcome without the sandbox controls.

/// Defines the outcomes, each with the value that forces it and its effect in words.
///
/// ```ignore
/// magic_outcomes! {
///     /// What a magic amount does.
///     pub enum MagicOutcome, pub fn magic_amounts, Cents;
///     /// The card takes 10 seconds instead of 2.
///     Slow = Cents::new(777), "the card takes 10 seconds to be ready";
/// }
/// // becomes
/// pub enum MagicOutcome { Slow }
/// pub const fn magic_amounts() -> [(Cents, MagicOutcome, &'static str); 1] { … }
/// // and `MagicOutcome::of(value)`
/// ```
macro_rules! magic_outcomes {
    ($(#[$doc:meta])* pub enum $outcome:ident, pub fn $all:ident, $value_type:ty;
    $($(#[$outcome_doc:meta])* $name:ident = $value:expr, $effect:literal;)+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $outcome {
            $($(#[$outcome_doc])* $name,)+
        }

        /// The values, their outcomes and effects.
        pub const fn $all() -> [($value_type, $outcome, &'static str); [$($outcome::$name),+].len()] {
            [$(($value, $outcome::$name, $effect)),+]
        }

        impl $outcome {
            /// The outcome of an order with this value.
            pub(super) fn of(value: impl PartialEq<$value_type>) -> Option<Self> {
                let mut all = $all().into_iter();
                all.find(|(magic, ..)| value == *magic).map(|(_, outcome, _)| outcome)
            }
        }
    };
}
pub(super) use magic_outcomes;

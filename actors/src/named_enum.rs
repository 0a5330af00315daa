//! Enums whose variants have names: a row has a variant and its name, so that no list can miss one.

/// Writes an enum with the list and the names of its variants.
///
/// ```ignore
/// named_enum! {
///     /// Provider with a clearing account.
///     #[derive(Clone, Copy)]
///     pub enum LedgerProvider {
///         /// Sells gift cards.
///         GiftCards = "gift_cards",
///     }
/// }
/// // becomes
/// pub enum LedgerProvider { GiftCards }
/// // which serializes as its name
/// impl LedgerProvider {
///     pub const ALL: [Self; 1] = [Self::GiftCards];
///     pub const fn name(self) -> &'static str { /* "gift_cards" */ }
/// }
/// ```
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        pub enum $enum {
            $($(#[$doc])* $variant,)+
        }

        impl $enum {
            /// Every variant, in declaration order.
            pub const ALL: [Self; [$(Self::$variant),+].len()] = [$(Self::$variant),+];

            /// Name in responses, events, reports, metrics and the provider protocol.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        $crate::answer::serialize_as_name!($enum);
    };
}
pub(crate) use named_enum;

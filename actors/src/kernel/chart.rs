//! State charts. One table per entity lists its states, its events, what each event announces and which transitions it
//! makes; `state_machine!` generates everything else from it.

use std::collections::BTreeSet;
use std::fmt;

use purser_storage::codec::Stored;

/// What [`crate::state_machine!`] generates for an entity.
pub trait StateMachine: Sized {
    /// Its states without their data.
    type State: NamedState;
    /// Events that it emits.
    type Event: Stored + fmt::Debug + Send + Sync + 'static;

    /// Its table.
    const CHART: &'static Chart;

    /// Current state.
    fn state(&self) -> Self::State;

    /// Position of the event in [`Chart::events`].
    fn event_number(event: &Self::Event) -> usize;

    /// Part after the dot of the event type; `None` if subscribers are not notified of the event.
    fn event_name(event: &Self::Event) -> Option<&'static str>;
}

/// The closed set of an entity's states.
pub trait NamedState: Copy + serde::Serialize + 'static {
    /// Every state, in the order of the table.
    const ALL: &'static [Self];

    /// Name in answers, events and documents.
    fn as_str(self) -> &'static str;

    /// Position in [`NamedState::ALL`].
    fn number(self) -> u8;
}

/// Table of an entity: nothing that is not in it is committed.
#[derive(Debug)]
pub struct Chart {
    /// Names of the states, by number.
    pub states: &'static [&'static str],
    /// Events, by number.
    pub events: &'static [ChartEvent],
}

/// One event of a [`Chart`].
#[derive(Debug)]
pub struct ChartEvent {
    /// Name of the variant.
    pub variant: &'static str,
    /// Names that it can announce. More than one if it depends on the event's data.
    pub names: &'static [&'static str],
    /// Transitions that it makes.
    pub rows: &'static [ChartRow],
}

/// Transitions to one state, or from some states to themselves.
#[derive(Clone, Copy, Debug)]
pub struct ChartRow {
    /// Bit 0 is set if the entity may not exist yet, bit n + 1 for the state with number n.
    from: u32,
    /// `None`: the state stays.
    to: Option<u8>,
    cause: &'static str,
}

impl ChartRow {
    /// The event keeps each of these states.
    pub const fn from(from: u32) -> Self {
        Self {
            from,
            to: None,
            cause: "",
        }
    }

    /// The event leads to this state.
    #[must_use]
    pub const fn to(self, state: u8, cause: &'static str) -> Self {
        Self {
            to: Some(state),
            cause,
            ..self
        }
    }
}

/// One transition of a [`Chart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Transition {
    /// Name of the state before; `-` if the entity does not exist yet.
    pub from: &'static str,
    /// Name of the state after.
    pub to: &'static str,
    /// Name of the event's variant.
    pub event: &'static str,
    /// What leads to the event; empty if the state stays.
    pub cause: &'static str,
}

impl Chart {
    /// Whether the event may lead from this state to that one. `None`: the entity does not exist yet.
    pub fn allows(&self, event: usize, from: Option<u8>, to: u8) -> bool {
        let bit = from.map_or(1_u32, |state| 2 << state);
        let rows = self.events.get(event).map_or(&[][..], |event| event.rows);
        rows.iter()
            .any(|row| row.from & bit != 0 && row.to.or(from) == Some(to))
    }

    /// Whether the event can announce this name.
    pub fn announces(&self, event: usize, name: &str) -> bool {
        self.events.get(event).is_some_and(|event| event.names.contains(&name))
    }

    /// Every name that an event can announce.
    pub fn event_names(&self) -> BTreeSet<&'static str> {
        self.events.iter().flat_map(|event| event.names).copied().collect()
    }

    /// Every transition, in the order of the table.
    pub fn transitions(&self) -> impl Iterator<Item = Transition> {
        let rows = self
            .events
            .iter()
            .flat_map(|event| event.rows.iter().map(move |row| (event.variant, *row)));
        rows.flat_map(move |(event, row)| {
            let states = std::iter::once("-").chain(self.states.iter().copied());
            let from = states.zip(0_u32..).filter(move |(_, bit)| (row.from >> bit) & 1 == 1);
            from.map(move |(from, _)| Transition {
                from,
                to: row
                    .to
                    .map_or(from, |to| self.states.get(usize::from(to)).copied().unwrap_or("-")),
                event,
                cause: row.cause,
            })
        })
    }
}

/// The chart of an entity. `Status` and `Event` are its enums: each variant has its line, whatever data it has.
///
/// ```text
/// state_machine! { GiftCard, Status, Event;
///     states { Processing = "processing", Completed = "completed" }
///     events {
///         Ordered "processing" { - => Processing: "settlement of the payment" }
///         Delivered "completed" { Processing => Completed: "issue by the catalog" }
///         Viewed - { Processing | Completed }
///     }
/// }
/// ```
///
/// The event's variant is followed by the name that it announces: `-` announces nothing, and `(function: "a", "b")`
/// calls a function, which returns one of these names or `None`. In a row, `-` means that the event creates the entity.
/// A row without `=>` leaves the listed states unchanged; `*` is every state. `Released | DeclinedUnsent = "released"`
/// is one state for two variants. If the state is not just the variant of `self.status`, the second argument is left
/// out and `From<&Entity> for State` is written by hand. The table expands to
///
/// ```text
/// pub enum State { Processing, Completed }             // with NamedState; serializes as its name
/// impl From<&GiftCard> for State { … match gift_card.status { Status::Processing { .. } => State::Processing, … } }
/// impl StateMachine for GiftCard {
///     const CHART: &'static Chart = &Chart { states: &["processing", "completed"], events: &[ChartEvent { … }, …] };
///     fn state(&self) -> State { State::from(self) }
///     fn event_number(event: &Event) -> usize { match event { Event::Ordered { .. } => 0, … } }
///     fn event_name(event: &Event) -> Option<&'static str> { match event { Event::Ordered { .. } => Some("processing"), … } }
/// }
/// ```
#[macro_export]
macro_rules! state_machine {
    (@from -) => { 1_u32 };
    (@from *) => { !1_u32 };
    (@from $state:ident) => { 2_u32 << State::$state as u32 };
    (@names -) => { &[] };
    (@names $name:literal) => { &[$name] };
    (@names ($by:path: $($name:literal),+)) => { &[$($name),+] };
    (@name $event:ident -) => { None };
    (@name $event:ident $name:literal) => { Some($name) };
    (@name $event:ident ($by:path: $($name:literal),+)) => { $by($event) };
    (
        $entity:ident, $status:ident, $event:ident;
        states { $($state:ident $(| $also:ident)* = $name:literal),+ $(,)? }
        events $events:tt
    ) => {
        impl From<&$entity> for State {
            fn from(entity: &$entity) -> Self {
                match entity.status {
                    $($status::$state { .. } $(| $status::$also { .. })* => Self::$state,)+
                }
            }
        }
        $crate::state_machine! { $entity, $event; states { $($state = $name),+ } events $events }
    };
    (
        $entity:ident, $event:ident;
        states { $($state:ident = $name:literal),+ $(,)? }
        events { $($variant:ident $announced:tt { $($($from:tt)|+ $(=> $to:ident: $cause:literal)?),+ $(,)? })+ }
    ) => {
        /// State without its data.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum State {
            $(#[doc = concat!("`", $name, "`")] $state,)+
        }

        impl $crate::kernel::chart::NamedState for State {
            const ALL: &'static [Self] = &[$(Self::$state),+];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$state => $name,)+
                }
            }

            fn number(self) -> u8 {
                self as u8
            }
        }

        impl ::serde::Serialize for State {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str($crate::kernel::chart::NamedState::as_str(*self))
            }
        }

        impl $crate::kernel::chart::StateMachine for $entity {
            type State = State;
            type Event = $event;

            const CHART: &'static $crate::kernel::chart::Chart = &$crate::kernel::chart::Chart {
                states: &[$($name),+],
                events: &[$($crate::kernel::chart::ChartEvent {
                    variant: stringify!($variant),
                    names: $crate::state_machine!(@names $announced),
                    rows: &[$(
                        $crate::kernel::chart::ChartRow::from($($crate::state_machine!(@from $from))|+)
                            $(.to(State::$to as u8, $cause))?
                    ),+],
                }),+],
            };

            fn state(&self) -> State {
                State::from(self)
            }

            fn event_number(event: &$event) -> usize {
                enum Number { $($variant),+ }
                match event {
                    $($event::$variant { .. } => Number::$variant as usize,)+
                }
            }

            fn event_name(event: &$event) -> Option<&'static str> {
                match event {
                    $($event::$variant { .. } => $crate::state_machine!(@name event $announced),)+
                }
            }
        }
    };
}

//! A banking profile: what a holder says of themselves to the bank, one a wallet.
//!
//! ```text
//! - --created--> open
//! ```
//!
//! It is no proof of anything: the identity behind it is verified elsewhere, by its owner in person.

use purser_storage::codec::Stored;

use crate::banking::application::BankingApplication;
use crate::id::{BankingApplicationId, Wallet};
use crate::kernel::entity::Transition;
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, JsonObject};
use crate::port::Timestamp;
use crate::product::Country;

/// Who banks.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CustomerType {
    /// A person.
    Individual,
    /// A company of this name. The profile's person acts for it.
    Business(String),
}

impl CustomerType {
    /// As in answers.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Individual => "individual",
            Self::Business(_) => "business",
        }
    }
}

/// A profile.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankingProfile {
    /// Whose.
    pub owner: Wallet,
    /// Who banks.
    pub customer_type: CustomerType,
    /// The person's.
    pub first_name: String,
    /// The person's.
    pub last_name: String,
    /// Where the bank writes to.
    pub email: String,
    /// Where the holder lives or is registered.
    pub country: Country,
    /// When it was made.
    pub created_at: Timestamp,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Make it, and open the application with it.
    Create {
        /// It.
        profile: Box<BankingProfile>,
        /// The application's new name.
        application: BankingApplicationId,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Made.
    Created(Box<BankingProfile>),
}

/// Why a command was refused: there is a profile already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyExists;

impl Stored for BankingProfile {
    const SCHEMA: u16 = 180;
}

impl Stored for Event {
    const SCHEMA: u16 = 181;
}

impl Entity for BankingProfile {
    const KIND: EntityKind = EntityKind::BankingProfile;
    const EVENT_NAMES: &'static [&'static str] = &["created"];
    const TRANSITIONS: &'static [Transition] = &[("-", "created", "open")];
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Event = Event;
    type Reply = ();
    type Rejection = AlreadyExists;
    type Outcome = ();

    fn decide(
        this: Option<&Self>,
        wallet: &Wallet,
        command: Command,
        context: &Context,
    ) -> Result<Decision<Self>, AlreadyExists> {
        match (this, command) {
            (None, Command::Create { profile, application }) => {
                let profile = Self {
                    owner: *wallet,
                    created_at: context.now,
                    ..*profile
                };
                let business = matches!(profile.customer_type, CustomerType::Business(_));
                let american = profile.country.as_str() == "US";
                let opening = BankingApplication::open(*wallet, business, american, application, context);
                Ok(Decision::answer(())
                    .open(opening.map_err(|_| AlreadyExists)?)
                    .event(Event::Created(Box::new(profile))))
            }
            (Some(_), Command::Create { .. }) => Err(AlreadyExists),
        }
    }

    fn apply(this: Option<Self>, _: &Wallet, event: &Event) -> Result<Self, InvalidTransition> {
        match (this, event) {
            (None, Event::Created(profile)) => Ok((**profile).clone()),
            (Some(profile), event) => Err(InvalidTransition::new(profile.status(), event)),
        }
    }

    fn status(&self) -> &'static str {
        "open"
    }

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn event_name(_: &Event) -> Option<&'static str> {
        Some("created")
    }

    fn view(&self, wallet: &Wallet) -> JsonObject {
        let business = match &self.customer_type {
            CustomerType::Business(name) => Some(name),
            CustomerType::Individual => None,
        };
        JsonObject::new()
            .text("user_id", wallet.user_id())
            .text("status", self.status())
            .text("type", self.customer_type.name())
            .text("first_name", &self.first_name)
            .text("last_name", &self.last_name)
            .optional_text("business_name", business)
            .text("email", &self.email)
            .text("country", self.country)
            .time("created_at", self.created_at)
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

//! A banking profile: the data that an account owner gives to the bank. One per wallet.
//!
//! ```text
//! - --created--> open
//! ```
//!
//! It proves nothing: the owner verifies the identity in person, in a separate process.

use purser_storage::codec::Stored;
use serde::Serialize;

use crate::answer::{Time, UserId};
use crate::currency::Country;
use crate::entity::banking::application::BankingApplication;
use crate::id::{BankingApplicationId, Wallet};
use crate::kernel::{Context, Decision, Entity, EntityKind, InvalidTransition, StateMachine as _};
use crate::port::Timestamp;

/// Kind of bank customer.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum CustomerType {
    /// A natural person.
    Individual,
    /// A company with this name. The profile's person represents it.
    Business(String),
}

impl CustomerType {
    /// Name in API responses.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Individual => "individual",
            Self::Business(_) => "business",
        }
    }
}

crate::answer::serialize_as_name!(CustomerType);

/// State of a banking profile.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankingProfile {
    /// Account that owns it.
    pub owner: Wallet,
    /// Kind of bank customer.
    pub customer_type: CustomerType,
    /// Given name of the person.
    pub first_name: String,
    /// Family name of the person.
    pub last_name: String,
    /// E-mail address for the bank.
    pub email: String,
    /// Country of residence or registration.
    pub country: Country,
    /// Time at which the account owner created the profile.
    pub created_at: Timestamp,
}

/// Commands to a banking profile.
#[derive(Clone, Debug)]
pub enum Command {
    /// Creates the profile and opens the application.
    Create {
        /// Profile to create.
        profile: Box<BankingProfile>,
        /// Id of the new application.
        application: BankingApplicationId,
    },
}

/// Events of a banking profile.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// The profile was created.
    Created(Box<BankingProfile>),
}

/// A customer of the bank.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = BankingProfileResource))]
pub struct BankingProfileView<'a> {
    /// Wallet address of the account in lower case.
    pub user_id: UserId,
    /// Status of the profile.
    pub status: State,
    /// Type of the customer.
    pub r#type: &'a CustomerType,
    /// First name of the customer, or of who acts for the business.
    pub first_name: &'a str,
    /// Last name.
    pub last_name: &'a str,
    /// Name of the business.
    #[cfg_attr(feature = "documents", schema(required))]
    pub business_name: Option<&'a str>,
    /// Email address.
    pub email: &'a str,
    /// Country (ISO 3166-1 alpha-2).
    pub country: Country,
    /// Creation time (RFC 3339).
    pub created_at: Time,
}

crate::state_machine! { BankingProfile, Event;
    states { Open = "open" }
    events {
        Created "created" { - => Open: "creation" }
    }
}

impl From<&BankingProfile> for State {
    fn from(_: &BankingProfile) -> Self {
        Self::Open
    }
}

/// The command is rejected because a profile exists.
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
    const CREATED_BY_COMMAND: bool = true;

    type Id = Wallet;
    type Command = Command;
    type Reply = ();
    type Rejection = AlreadyExists;
    type Outcome = ();
    type View<'a> = BankingProfileView<'a>;

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

    fn owner(&self) -> Wallet {
        self.owner
    }

    fn view(&self, wallet: &Wallet) -> BankingProfileView<'_> {
        let business = match &self.customer_type {
            CustomerType::Business(name) => Some(name.as_str()),
            CustomerType::Individual => None,
        };
        BankingProfileView {
            user_id: (*wallet).into(),
            status: self.state(),
            r#type: &self.customer_type,
            first_name: &self.first_name,
            last_name: &self.last_name,
            business_name: business,
            email: &self.email,
            country: self.country,
            created_at: self.created_at.into(),
        }
    }

    fn outcome(&self) -> Option<()> {
        None
    }
}

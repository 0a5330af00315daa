//! The application to bank: what a holder answers, their documents, and what the bank says to it. One a wallet.
//!
//! ```text
//! - --profile made--> collecting --submitted, complete--> submitted --bank--> APPROVED
//!                         ^                                 |   `-----bank--> rejected
//!                         |<-----bank wants more------------'                    |
//!                         `------answers or a document change--------------------'
//! ```
//!
//! Only a complete application of a verified owner is submitted, by a batch that holds only with the row of the verified
//! identity. The tax number and the keys of documents lie sealed in the vault; no event has either.

mod machine;

use purser_storage::codec::Stored;

use crate::id::{BankingApplicationId, DocumentId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::port::Timestamp;
use crate::port::banking::ReviewDecision;

macro_rules! define_questions {
    ($($(#[$says:meta])* $name:ident = $text:literal,)*) => {
        /// What an application asks. The number is stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
        pub enum Question {
            $($(#[$says])* $name,)*
        }

        impl Question {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// As in answers and events.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

define_questions! {
    /// Of the person, or of who acts for the business: `YYYY-MM-DD`.
    DateOfBirth = "date_of_birth",
    /// E.164.
    Phone = "phone",
    /// Street and number.
    AddressLine1 = "address_line1",
    /// Whatever else an address needs. Never required.
    AddressLine2 = "address_line2",
    /// Town.
    City = "city",
    /// State or region. Required in the U.S.
    State = "state",
    /// As its country writes it.
    PostalCode = "postal_code",
    /// What a person lives on.
    Occupation = "occupation",
    /// Where the money will come from.
    SourceOfFunds = "source_of_funds",
    /// What a business does.
    BusinessType = "business_type",
    /// When a business was formed: `YYYY-MM-DD`.
    FormationDate = "formation_date",
}

/// What a document shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum DocumentType {
    /// Where the holder lives or sits.
    ProofOfAddress,
    /// That a business exists.
    Formation,
    /// Anything else that the bank asked for.
    Other,
}

impl DocumentType {
    /// As in answers.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProofOfAddress => "proof_of_address",
            Self::Formation => "formation_document",
            Self::Other => "other",
        }
    }
}

/// What kind of file it is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum MediaType {
    /// `application/pdf`.
    Pdf,
    /// `image/png`.
    Png,
    /// `image/jpeg`.
    Jpeg,
}

impl MediaType {
    /// The media type.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// A document that was uploaded. The bytes lie elsewhere, under a key of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Document {
    /// Its id, also of its key in the vault.
    pub id: DocumentId,
    /// What it shows.
    pub document_type: DocumentType,
    /// What kind of file.
    pub media: MediaType,
    /// How long it is.
    pub bytes: u64,
    /// SHA-256 of the plain bytes.
    pub sha256: [u8; 32],
    /// When it came.
    pub at: Timestamp,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankingApplication {
    /// Whose.
    pub owner: Wallet,
    /// Its name towards the bank.
    pub id: BankingApplicationId,
    /// Whether a company applies.
    pub business: bool,
    /// Whether the holder is in the U.S., where an address has a state.
    pub american: bool,
    /// What was answered so far, in the order of the questions.
    pub answers: Vec<(Question, String)>,
    /// Last four of the tax number, once it is there.
    pub tax_last4: Option<String>,
    /// What was uploaded, one of a kind; of others as many as there are.
    pub documents: Vec<Document>,
    /// What the bank asked for when it gave the application back, in its own words.
    pub requested_items: Option<String>,
    /// Times submitted.
    pub submissions: u32,
    /// When it was opened.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// Where it stands.
    pub status: Status,
}

/// Where an application stands.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Answers and documents are taken.
    Incomplete,
    /// With the bank. The effect that follows it.
    Submitted(JobId),
    /// Accounts may be opened. The bank's name of the customer.
    Approved(String),
    /// Not now; the bank's word. A changed one may be submitted again.
    Rejected(String),
}

/// What may be asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// Answers, which replace those to the same questions.
    Update {
        /// They.
        answers: Vec<(Question, String)>,
        /// The tax number: last four, and the whole sealed under the application's id.
        tax: Option<(String, Vec<u8>)>,
    },
    /// A document, which replaces one that shows the same.
    AddDocument {
        /// It.
        document: Document,
        /// Its key, sealed under its id.
        sealed_key: Vec<u8>,
    },
    /// Give it to the bank.
    Submit,
    /// The bank's word.
    RecordReview {
        /// The effect that asked.
        job: JobId,
        /// It.
        review: ReviewDecision,
    },
}

/// What may happen.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Opened with the profile.
    Opened(Box<BankingApplication>),
    /// Answered; last four of the tax number if that was given.
    Updated(Vec<(Question, String)>, Option<String>, Timestamp),
    /// A document came.
    DocumentAdded(Document),
    /// Given to the bank.
    Submitted(JobId, Timestamp),
    /// Accounts may be opened.
    Approved(String, Timestamp),
    /// Not now.
    Rejected(String, Timestamp),
    /// Given back for more.
    InformationRequested(String, Timestamp),
}

/// Why a command was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// Not in this state.
    State(&'static str),
    /// These are lacking.
    Incomplete(Vec<&'static str>),
    /// No more documents are taken.
    TooManyDocuments,
}

impl Stored for BankingApplication {
    const SCHEMA: u16 = 152;
}

impl Stored for Event {
    const SCHEMA: u16 = 153;
}

/// Documents of one application, at most.
pub const MAX_DOCUMENTS: usize = 10;

impl BankingApplication {
    /// The first snapshot, for the batch of the profile.
    ///
    /// # Errors
    /// Never for a wallet that has none; the type is the engine's.
    pub fn open(
        owner: Wallet,
        business: bool,
        american: bool,
        id: BankingApplicationId,
        context: &Context,
    ) -> Result<NewEntity, InvalidTransition> {
        let application = Self {
            owner,
            id,
            business,
            american,
            answers: Vec::new(),
            tax_last4: None,
            documents: Vec::new(),
            requested_items: None,
            submissions: 0,
            created_at: context.now,
            updated_at: context.now,
            status: Status::Incomplete,
        };
        NewEntity::from_event::<Self>(&owner, &Event::Opened(Box::new(application)), context)
    }

    /// Whether this kind of holder must answer it.
    pub const fn requires(&self, question: Question) -> bool {
        match question {
            Question::DateOfBirth
            | Question::Phone
            | Question::AddressLine1
            | Question::City
            | Question::PostalCode
            | Question::SourceOfFunds => true,
            Question::AddressLine2 => false,
            Question::State => self.american,
            Question::Occupation => !self.business,
            Question::BusinessType | Question::FormationDate => self.business,
        }
    }

    /// What was answered.
    pub fn answer(&self, question: Question) -> Option<&str> {
        let found = self.answers.iter().find(|(asked, _)| *asked == question);
        found.map(|(_, answer)| answer.as_str())
    }

    /// What is lacking before it can be submitted, the owner's identity apart.
    pub fn missing(&self) -> Vec<&'static str> {
        let answers = Question::ALL
            .iter()
            .filter(|question| self.requires(**question) && self.answer(**question).is_none())
            .map(|question| question.name());
        let tax = self.tax_last4.is_none().then_some("tax_id");
        let papers = [
            (DocumentType::ProofOfAddress, true),
            (DocumentType::Formation, self.business),
        ];
        let papers = papers
            .into_iter()
            .filter(|(shows, needed)| *needed && !self.documents.iter().any(|paper| paper.document_type == *shows))
            .map(|(shows, _)| shows.name());
        answers.chain(tax).chain(papers).collect()
    }
}

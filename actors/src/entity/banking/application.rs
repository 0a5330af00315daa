//! The banking application: the owner's answers and documents, and the bank's review. One per wallet.
//!
//! ```text
//! - --profile set---> incomplete --submitted, complete--> submitted --bank--> APPROVED
//!                         ^                                 |   `-----bank--> rejected
//!                         |<-----bank requests more---------'                    |
//!                         `------answers or a document change--------------------'
//! ```
//!
//! Only a complete application of a verified owner is submitted, by a batch with the condition that the identity
//! verification row exists. The tax number and the document keys are sealed in the vault; no event contains them.

mod job;
mod machine;
mod view;

pub use self::view::BankingApplicationView;
use purser_storage::codec::Stored;

use crate::id::{BankingApplicationId, DocumentId, JobId, Wallet};
use crate::kernel::{Context, InvalidTransition, NewEntity};
use crate::port::Timestamp;
use crate::port::banking::ReviewDecision;

pub use self::job::Job;

macro_rules! define_questions {
    ($($(#[$says:meta])* $name:ident = $text:literal,)*) => {
        /// A question of the application. The number is stored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, bincode::Encode, bincode::Decode)]
        pub enum Question {
            $($(#[$says])* $name,)*
        }

        impl Question {
            /// Every question, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Name in API responses and events.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

define_questions! {
    /// Date of birth of the person, or of the representative of the business: `YYYY-MM-DD`.
    DateOfBirth = "date_of_birth",
    /// Phone number in E.164 format.
    Phone = "phone",
    /// Street and number.
    AddressLine1 = "address_line1",
    /// Additional address line; never required.
    AddressLine2 = "address_line2",
    /// Town of the address.
    City = "city",
    /// State or region; required in the U.S.
    State = "state",
    /// Postal code in the country's format.
    PostalCode = "postal_code",
    /// Occupation of a person.
    Occupation = "occupation",
    /// Source of the money.
    SourceOfFunds = "source_of_funds",
    /// Activity of a business.
    BusinessType = "business_type",
    /// Date when a business was formed: `YYYY-MM-DD`.
    FormationDate = "formation_date",
}

/// Purpose of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bincode::Encode, bincode::Decode)]
pub enum DocumentType {
    /// Proves the owner's or the company's address.
    ProofOfAddress,
    /// Proves that a business exists.
    Formation,
    /// Anything else that the bank requested.
    Other,
}

impl DocumentType {
    /// Name in API responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ProofOfAddress => "proof_of_address",
            Self::Formation => "formation_document",
            Self::Other => "other",
        }
    }
}

/// File type, detected from the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum MediaType {
    /// PDF document (`application/pdf`).
    Pdf,
    /// PNG image (`image/png`).
    Png,
    /// JPEG image (`image/jpeg`).
    Jpeg,
}

impl MediaType {
    /// Media type (MIME).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// An uploaded document. Its bytes are stored separately, under their own key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct Document {
    /// Id of the document and of its key in the vault.
    pub id: DocumentId,
    /// Purpose of the document.
    pub document_type: DocumentType,
    /// Media type of the uploaded file.
    pub media: MediaType,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the plaintext bytes.
    pub sha256: [u8; 32],
    /// Time of the upload.
    pub at: Timestamp,
}

/// State of a banking application.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct BankingApplication {
    /// Account that owns it.
    pub owner: Wallet,
    /// Id of the application at the bank.
    pub id: BankingApplicationId,
    /// Whether a company applies.
    pub business: bool,
    /// Whether the owner is in the U.S., where an address has a state.
    pub american: bool,
    /// Answers so far, in the order of the questions.
    pub answers: Vec<(Question, String)>,
    /// Last four digits of the tax number, once it was given.
    pub tax_last4: Option<String>,
    /// Uploaded documents: one of each type, and any number of `Other`.
    pub documents: Vec<Document>,
    /// Request of the bank when it returned the application, as external text.
    pub requested_items: Option<String>,
    /// Number of submissions.
    pub submissions: u32,
    /// Time when it was opened.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Where the application is in its review.
    pub status: Status,
}

/// Status of a banking application.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Status {
    /// Answers and documents are accepted.
    Incomplete,
    /// With the bank; the job that follows it.
    Submitted(JobId),
    /// Bank accounts may be opened; the bank's reference of the customer.
    Approved(String),
    /// Rejected with the bank's reason. A changed application may be submitted again.
    Rejected(String),
}

/// Commands to a banking application.
#[derive(Clone, Debug)]
pub enum Command {
    /// Sets answers, replacing earlier ones to the same questions.
    Update {
        /// Questions with their answers.
        answers: Vec<(Question, String)>,
        /// The tax number: its last four digits, and the whole number sealed under the application's id.
        tax: Option<(String, Vec<u8>)>,
    },
    /// Adds a document, replacing one of the same type.
    AddDocument {
        /// Document to add.
        document: Document,
        /// Key of the document, sealed under its id.
        sealed_key: Vec<u8>,
    },
    /// Submits the application to the bank.
    Submit,
    /// The bank reports its review.
    RecordReview {
        /// Job that sent the request.
        job: JobId,
        /// Result of the review.
        review: ReviewDecision,
    },
}

/// Events of a banking application.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub enum Event {
    /// Opened with the banking profile.
    Opened(Box<BankingApplication>),
    /// Answers were set; the last four digits of the tax number if it was given.
    Updated(Vec<(Question, String)>, Option<String>, Timestamp),
    /// A document was added.
    DocumentAdded(Document),
    /// Submitted to the bank.
    Submitted(JobId, Timestamp),
    /// Bank accounts may be opened.
    Approved(String, Timestamp),
    /// The bank rejected it.
    Rejected(String, Timestamp),
    /// The bank returned it with a request.
    InformationRequested(String, Timestamp),
}

crate::state_machine! { BankingApplication, Status, Event;
    states { Incomplete = "incomplete", Submitted = "submitted", Approved = "approved", Rejected = "rejected" }
    events {
        Opened "incomplete" { - => Incomplete: "creation of the profile" }
        Updated - { Incomplete, Rejected => Incomplete: "change of an answer" }
        DocumentAdded - { Incomplete, Rejected => Incomplete: "another document" }
        Submitted "submitted" { Incomplete => Submitted: "submission, once complete and with a verified owner" }
        Approved "approved" { Submitted => Approved: "approval by the bank" }
        Rejected "rejected" { Submitted => Rejected: "rejection by the bank" }
        InformationRequested "incomplete" { Submitted => Incomplete: "request by the bank for more information" }
    }
}

/// Reason why a banking application rejects a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The current state does not allow the command.
    State(&'static str),
    /// These answers or documents are missing.
    Incomplete(Vec<&'static str>),
    /// The document limit is reached.
    TooManyDocuments,
}

impl Stored for BankingApplication {
    const SCHEMA: u16 = 152;
}

impl Stored for Event {
    const SCHEMA: u16 = 153;
}

/// Maximum number of documents of one application.
pub const MAX_DOCUMENTS: usize = 10;

impl BankingApplication {
    /// First snapshot, for the batch of the profile.
    ///
    /// # Errors
    /// Never for a wallet without one; the error type is the engine's.
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

    /// Whether this kind of owner must answer the question.
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

    /// Answer to a question, if there is one.
    pub fn answer(&self, question: Question) -> Option<&str> {
        let found = self.answers.iter().find(|(asked, _)| *asked == question);
        found.map(|(_, answer)| answer.as_str())
    }

    /// Missing items before it can be submitted, except the owner's identity verification.
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

//! Applications to the bank, on the wire: `POST /v1/bank-applications`, `POST /v1/bank-documents/{document_id}`. Documents go
//! by themselves, once: an application is asked after more often than anybody would like to send them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::id::{ApplicationId, DocumentId, EffectId};
use purser_actors::port::banking::{Review, Ruling};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::{Address, Hidden, Text, Unreadable, name};
use crate::provider::banking::{PlainApplication, PlainDocument};
use crate::secret::Secret;

/// An application to the bank, with all that its holder has answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankApplication {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub application_id: Text<ApplicationId>,
    /// Whose.
    #[schema(value_type = String)]
    pub wallet: Text<Address>,
    /// Profile and answers, by the names that the service's own functions have for them.
    pub answers: BTreeMap<String, String>,
    /// The tax number.
    pub tax_id: Hidden,
    /// What was uploaded.
    pub documents: Vec<BankDocument>,
}

/// A document of an application; its bytes come by themselves.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocument {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub document_id: Text<DocumentId>,
    /// What it shows.
    pub shows: String,
    /// Its media type.
    pub media: String,
    /// SHA-256 of the bytes, in hex. Bytes with another one are not this document.
    pub sha256: String,
}

/// The bytes of a document. Once more changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocumentBytes {
    /// In Base64 with padding; 10 MiB of them at most.
    pub content: Hidden,
}

/// A document that has arrived.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDocumentTaken {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub document_id: Text<DocumentId>,
}

impl BankDocumentBytes {
    /// For the wire.
    pub fn of(bytes: &[u8]) -> Self {
        let content = Hidden(Secret::new(BASE64.encode(bytes)));
        Self { content }
    }

    /// As the bank reads it.
    ///
    /// # Errors
    /// When it is not Base64.
    pub fn read(&self) -> Result<Zeroizing<Vec<u8>>, Unreadable> {
        let bytes = BASE64.decode(self.content.0.expose_secret());
        bytes
            .map(Zeroizing::new)
            .map_err(|_| Unreadable("a document in Base64"))
    }
}

impl From<&PlainApplication> for BankApplication {
    fn from(asked: &PlainApplication) -> Self {
        let documents = asked.documents.iter().map(|paper| BankDocument {
            document_id: Text(paper.id),
            shows: paper.shows.to_string(),
            media: paper.media.to_string(),
            sha256: hex::encode(paper.sha256),
        });
        let answers = asked.answers.iter();
        Self {
            application_id: Text(asked.id),
            wallet: Text(Address(asked.wallet)),
            answers: answers
                .map(|(name, answer)| (name.to_string(), answer.clone()))
                .collect(),
            tax_id: Hidden(asked.tax_id.clone()),
            documents: documents.collect(),
        }
    }
}

impl BankApplication {
    /// As the bank reads it, with the bytes of its documents; which of them are not here otherwise.
    ///
    /// # Errors
    /// When a document's hash is none.
    pub fn read(
        self,
        key: EffectId,
        bytes_of: impl Fn(DocumentId) -> Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Result<PlainApplication, Vec<DocumentId>>, Unreadable> {
        let (mut documents, mut missing) = (Vec::with_capacity(self.documents.len()), Vec::new());
        for paper in self.documents {
            let mut sha256 = [0; 32];
            hex::decode_to_slice(&paper.sha256, &mut sha256).map_err(|_| Unreadable("a SHA-256 in hex"))?;
            let Some(bytes) = bytes_of(paper.document_id.0) else {
                missing.push(paper.document_id.0);
                continue;
            };
            documents.push(PlainDocument {
                id: paper.document_id.0,
                shows: Cow::Owned(paper.shows),
                media: Cow::Owned(paper.media),
                sha256,
                bytes,
            });
        }
        if !missing.is_empty() {
            return Ok(Err(missing));
        }
        let answers = self.answers.into_iter();
        Ok(Ok(PlainApplication {
            key,
            id: self.application_id.0,
            wallet: self.wallet.0.0,
            answers: answers.map(|(name, answer)| (Cow::Owned(name), answer)).collect(),
            tax_id: self.tax_id.0,
            documents,
        }))
    }
}

/// What an answer to an application says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reviewed {
    /// The bank has something to say.
    Said(Ruling<Review>),
    /// These documents are not there.
    Wants(Vec<DocumentId>),
}

/// What the bank says to an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankReview {
    /// The application's.
    #[schema(value_type = String)]
    pub application_id: Text<ApplicationId>,
    /// The key of this submission: a holder may submit again, with more.
    pub key: String,
    /// What it says.
    #[serde(flatten)]
    pub state: BankReviewState,
}

/// What the bank says to an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankReviewState {
    /// Not decided; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Nothing is decided while these are not here: send each by `POST /v1/bank-documents/{document_id}`, then ask again.
    DocumentsWanted {
        /// The service's ids of them.
        #[schema(value_type = Vec<String>)]
        document_ids: Vec<Text<DocumentId>>,
    },
    /// Accounts may be opened.
    Approved {
        /// The bank's name of the customer, 1 to 200 bytes.
        customer: String,
    },
    /// Refused.
    Rejected {
        /// The bank's word for it.
        reason: String,
    },
    /// More is wanted; the holder submits again, under another key.
    Wanted {
        /// In the bank's words.
        what: String,
    },
}

impl BankReview {
    /// As the bank says it.
    pub fn of(id: ApplicationId, key: EffectId, said: Ruling<Review>) -> Self {
        Self {
            application_id: Text(id),
            key: key.to_string(),
            state: match said {
                Ruling::Pending { retry_after_ms } => BankReviewState::Pending { retry_after_ms },
                Ruling::Over(Review::Approved { customer }) => BankReviewState::Approved { customer },
                Ruling::Over(Review::Rejected { reason }) => BankReviewState::Rejected { reason },
                Ruling::Over(Review::Wanted { what }) => BankReviewState::Wanted { what },
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another submission.
    pub fn read(self, id: ApplicationId, key: EffectId) -> Result<Reviewed, Unreadable> {
        if self.application_id.0 != id || self.key != key.to_string() {
            return Err(Unreadable("it is about another submission"));
        }
        Ok(Reviewed::Said(match self.state {
            BankReviewState::DocumentsWanted { document_ids } => {
                return Ok(Reviewed::Wants(document_ids.into_iter().map(|id| id.0).collect()));
            }
            BankReviewState::Pending { retry_after_ms } => Ruling::Pending { retry_after_ms },
            BankReviewState::Approved { customer } => Ruling::Over(Review::Approved {
                customer: name(customer)?,
            }),
            BankReviewState::Rejected { reason } => Ruling::Over(Review::Rejected { reason }),
            BankReviewState::Wanted { what } => Ruling::Over(Review::Wanted { what }),
        }))
    }

    /// That documents are not there.
    pub fn wants(id: ApplicationId, key: EffectId, missing: Vec<DocumentId>) -> Self {
        let document_ids = missing.into_iter().map(Text).collect();
        Self {
            application_id: Text(id),
            key: key.to_string(),
            state: BankReviewState::DocumentsWanted { document_ids },
        }
    }
}

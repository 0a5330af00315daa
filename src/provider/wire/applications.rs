//! Applications to the bank, on the wire: `POST /v1/bank-applications`, `POST /v1/bank-documents/{document_id}`. Documents go
//! by themselves, once: an application is asked after more often than anybody would like to send them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use purser_actors::id::{BankingApplicationId, DocumentId, JobId};
use purser_actors::port::banking::{BankDecision, ReviewDecision};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use super::{MalformedResponse, SecretText, TextValue, WalletAddress, name};
use crate::provider::banking::{PlainApplication, PlainDocument};
use crate::secret::Secret;

/// An application to the bank, with all that its holder has answered.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankApplication {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub application_id: TextValue<BankingApplicationId>,
    /// Whose.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// Profile and answers, by the names that the service's own functions have for them.
    pub answers: BTreeMap<String, String>,
    /// The tax number.
    pub tax_id: SecretText,
    /// What was uploaded.
    pub documents: Vec<BankDocument>,
}

/// A document of an application; its bytes come by themselves.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocument {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub document_id: TextValue<DocumentId>,
    /// What it shows.
    pub document_type: String,
    /// Its media type.
    pub media_type: String,
    /// SHA-256 of the bytes, in hex. Bytes with another one are not this document.
    pub sha256: String,
}

/// The bytes of a document. Once more changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocumentBytes {
    /// In Base64 with padding; 10 MiB of them at most.
    pub content: SecretText,
}

/// A document that has arrived.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDocumentReceived {
    /// The service's id of it.
    #[schema(value_type = String)]
    pub document_id: TextValue<DocumentId>,
}

impl BankDocumentBytes {
    /// For the wire.
    pub fn of(bytes: &[u8]) -> Self {
        let content = SecretText(Secret::new(BASE64.encode(bytes)));
        Self { content }
    }

    /// As the bank reads it.
    ///
    /// # Errors
    /// When it is not Base64.
    pub fn read(&self) -> Result<Zeroizing<Vec<u8>>, MalformedResponse> {
        let bytes = BASE64.decode(self.content.0.expose_secret());
        bytes
            .map(Zeroizing::new)
            .map_err(|_| MalformedResponse("a document in Base64"))
    }
}

impl From<&PlainApplication> for BankApplication {
    fn from(asked: &PlainApplication) -> Self {
        let documents = asked.documents.iter().map(|paper| BankDocument {
            document_id: TextValue(paper.id),
            document_type: paper.document_type.to_string(),
            media_type: paper.media_type.to_string(),
            sha256: hex::encode(paper.sha256),
        });
        let answers = asked.answers.iter();
        Self {
            application_id: TextValue(asked.id),
            wallet: TextValue(WalletAddress(asked.wallet)),
            answers: answers
                .map(|(name, answer)| (name.to_string(), answer.clone()))
                .collect(),
            tax_id: SecretText(asked.tax_id.clone()),
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
        key: JobId,
        bytes_of: impl Fn(DocumentId) -> Option<Zeroizing<Vec<u8>>>,
    ) -> Result<Result<PlainApplication, Vec<DocumentId>>, MalformedResponse> {
        let (mut documents, mut missing) = (Vec::with_capacity(self.documents.len()), Vec::new());
        for paper in self.documents {
            let mut sha256 = [0; 32];
            hex::decode_to_slice(&paper.sha256, &mut sha256).map_err(|_| MalformedResponse("a SHA-256 in hex"))?;
            let Some(bytes) = bytes_of(paper.document_id.0) else {
                missing.push(paper.document_id.0);
                continue;
            };
            documents.push(PlainDocument {
                id: paper.document_id.0,
                document_type: Cow::Owned(paper.document_type),
                media_type: Cow::Owned(paper.media_type),
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
pub enum ApplicationReview {
    /// The bank has something to say.
    Answered(BankDecision<ReviewDecision>),
    /// These documents are not there.
    DocumentsRequired(Vec<DocumentId>),
}

/// What the bank says to an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankReview {
    /// The application's.
    #[schema(value_type = String)]
    pub application_id: TextValue<BankingApplicationId>,
    /// The key of this submission: a holder may submit again, with more.
    pub key: String,
    /// What it says.
    #[serde(flatten)]
    pub state: BankReviewStatus,
}

/// What the bank says to an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankReviewStatus {
    /// Not decided; ask again with the same key after this time.
    Pending {
        /// In milliseconds.
        retry_after_ms: u64,
    },
    /// Nothing is decided while these are not here: send each by `POST /v1/bank-documents/{document_id}`, then ask again.
    DocumentsRequired {
        /// The service's ids of them.
        #[schema(value_type = Vec<String>)]
        document_ids: Vec<TextValue<DocumentId>>,
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
    InformationRequired {
        /// In the bank's words.
        items: String,
    },
}

impl BankReview {
    /// As the bank says it.
    pub fn of(id: BankingApplicationId, key: JobId, said: BankDecision<ReviewDecision>) -> Self {
        Self {
            application_id: TextValue(id),
            key: key.to_string(),
            state: match said {
                BankDecision::Pending { retry_after_ms } => BankReviewStatus::Pending { retry_after_ms },
                BankDecision::Final(ReviewDecision::Approved { customer }) => BankReviewStatus::Approved { customer },
                BankDecision::Final(ReviewDecision::Rejected { reason }) => BankReviewStatus::Rejected { reason },
                BankDecision::Final(ReviewDecision::InformationRequested { what }) => {
                    BankReviewStatus::InformationRequired { items: what }
                }
            },
        }
    }

    /// As this service reads it.
    ///
    /// # Errors
    /// When it is about another submission.
    pub fn read(self, id: BankingApplicationId, key: JobId) -> Result<ApplicationReview, MalformedResponse> {
        if self.application_id.0 != id || self.key != key.to_string() {
            return Err(MalformedResponse("it is about another submission"));
        }
        Ok(ApplicationReview::Answered(match self.state {
            BankReviewStatus::DocumentsRequired { document_ids } => {
                return Ok(ApplicationReview::DocumentsRequired(
                    document_ids.into_iter().map(|id| id.0).collect(),
                ));
            }
            BankReviewStatus::Pending { retry_after_ms } => BankDecision::Pending { retry_after_ms },
            BankReviewStatus::Approved { customer } => BankDecision::Final(ReviewDecision::Approved {
                customer: name(customer)?,
            }),
            BankReviewStatus::Rejected { reason } => BankDecision::Final(ReviewDecision::Rejected { reason }),
            BankReviewStatus::InformationRequired { items: what } => {
                BankDecision::Final(ReviewDecision::InformationRequested { what })
            }
        }))
    }

    /// That documents are not there.
    pub fn documents_required(id: BankingApplicationId, key: JobId, missing: Vec<DocumentId>) -> Self {
        let document_ids = missing.into_iter().map(TextValue).collect();
        Self {
            application_id: TextValue(id),
            key: key.to_string(),
            state: BankReviewStatus::DocumentsRequired { document_ids },
        }
    }
}

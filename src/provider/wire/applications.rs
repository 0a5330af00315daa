//! Bank applications on the wire: `POST /v1/bank-applications`, `POST /v1/bank-documents/{document_id}`. Documents are
//! uploaded separately and once, because an application is queried many times.

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

/// An application to the bank, with all answers of the account owner.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankApplication {
    /// The service's id of the application.
    #[schema(value_type = String)]
    pub application_id: TextValue<BankingApplicationId>,
    /// Wallet of the account that applies.
    #[schema(value_type = String)]
    pub wallet: TextValue<WalletAddress>,
    /// Profile fields and answers, by the names of the service's API.
    pub answers: BTreeMap<String, String>,
    /// Tax number of the applicant.
    pub tax_id: SecretText,
    /// Documents that the account owner uploaded.
    pub documents: Vec<BankDocument>,
}

/// A document of an application. Its bytes are uploaded separately.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocument {
    /// The service's id of the document.
    #[schema(value_type = String)]
    pub document_id: TextValue<DocumentId>,
    /// Kind of document.
    pub document_type: String,
    /// Media type of the document.
    pub media_type: String,
    /// SHA-256 of the bytes, in hex. Bytes with another digest are not this document.
    pub sha256: String,
}

/// The bytes of a document. Repeating the upload changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BankDocumentBytes {
    /// Base64 with padding; at most 10 MiB.
    pub content: SecretText,
}

/// Confirms that a document has arrived.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankDocumentReceived {
    /// The service's id of the document.
    #[schema(value_type = String)]
    pub document_id: TextValue<DocumentId>,
}

impl BankDocumentBytes {
    /// The wire form of the bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let content = SecretText(Secret::new(BASE64.encode(bytes)));
        Self { content }
    }

    /// Decodes the document.
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
    /// The application with its documents' bytes; otherwise the ids of the missing documents.
    ///
    /// # Errors
    /// When a document's hash is invalid.
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

/// Response to an application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplicationReview {
    /// The bank's decision, or that it is pending.
    Answered(BankDecision<ReviewDecision>),
    /// These documents are missing.
    DocumentsRequired(Vec<DocumentId>),
}

/// The bank's review of an application.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BankReview {
    /// Id of the reviewed application.
    #[schema(value_type = String)]
    pub application_id: TextValue<BankingApplicationId>,
    /// Key of this submission. A later submission with more information has another key.
    pub key: String,
    /// Status of the review.
    #[serde(flatten)]
    pub state: BankReviewStatus,
}

/// Status of a review.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum BankReviewStatus {
    /// Not decided; query again with the same key after this time.
    Pending {
        /// Delay in milliseconds.
        retry_after_ms: u64,
    },
    /// Documents are missing and block the decision. Send each by `POST /v1/bank-documents/{document_id}`, then query
    /// again.
    DocumentsRequired {
        /// The service's ids of the missing documents.
        #[schema(value_type = Vec<String>)]
        document_ids: Vec<TextValue<DocumentId>>,
    },
    /// Accounts may be opened.
    Approved {
        /// The bank's reference of the customer, 1 to 200 bytes.
        customer: String,
    },
    /// The bank rejected the application.
    Rejected {
        /// The bank's reason.
        reason: String,
    },
    /// More information is required. The account owner submits again, under another key.
    InformationRequired {
        /// Required items, in the bank's wording.
        items: String,
    },
}

impl BankReview {
    /// The wire form of the bank's decision.
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

    /// Reads the bank's decision.
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

    /// Response that documents are missing.
    pub fn documents_required(id: BankingApplicationId, key: JobId, missing: Vec<DocumentId>) -> Self {
        let document_ids = missing.into_iter().map(TextValue).collect();
        Self {
            application_id: TextValue(id),
            key: key.to_string(),
            state: BankReviewStatus::DocumentsRequired { document_ids },
        }
    }
}

//! Applications to the bank on the wire. Their documents are uploaded separately.

use std::collections::BTreeMap;

use purser_actors::id::{BankingApplicationId, DocumentId, JobId, Wallet};
use purser_actors::port::banking::{BankDecision, ReviewDecision};
use serde::{Deserialize, Serialize};

use super::PlainApplication;
use crate::definition::provider;
use crate::wire;
#[cfg(feature = "documents")]
use crate::wire::SecretText;
use purser_host::secret::Secret;

provider! {
    /// Reviews applications whose documents it has.
    trait ApplicationsApi, client RemoteApplications, tag "Banking";

    /// Submits an application, or queries its review.
    fn submit(application: &'a BankApplication) -> BankReviewStatus {
        POST "/bank-applications" submitBankApplication "Submit an application, or query its review";
        key key = application.key, "The same key is the same submission.";
        asks body it: BankApplication = application;
        calls (&BankApplication { key, ..it });
        answers BankReview {
            application_id = application.application_id, key = application.key; state
        } "The bank's review.";
    }
}

/// An application to the bank, with all answers of the account owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BankApplication {
    /// Idempotency key of this submission.
    #[serde(skip, default = "wire::no_key")]
    pub(super) key: JobId,
    /// The service's id of the application.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub(super) application_id: BankingApplicationId,
    /// Wallet of the account that applies.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub(super) wallet: Wallet,
    /// Profile fields and answers, by the names of the service's API.
    pub(super) answers: BTreeMap<String, String>,
    /// Tax number of the applicant.
    #[serde(with = "wire::secret")]
    #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
    pub(super) tax_id: Secret<String>,
    /// Documents that the account owner uploaded.
    pub(super) documents: Vec<BankDocument>,
}

/// A document of an application. Its bytes are uploaded separately.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BankDocument {
    /// The service's id of the document.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub(super) document_id: DocumentId,
    /// Kind of document.
    pub(super) document_type: String,
    /// Media type of the document.
    pub(super) media_type: String,
    /// SHA-256 of the bytes, in hex. Bytes with another digest are not this document.
    #[serde(with = "wire::hex_bytes")]
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    pub(super) sha256: [u8; 32],
}

impl From<&PlainApplication> for BankApplication {
    fn from(application: &PlainApplication) -> Self {
        let documents = application.documents.iter().map(|paper| BankDocument {
            document_id: paper.id,
            document_type: paper.document_type.to_string(),
            media_type: paper.media_type.to_string(),
            sha256: paper.sha256,
        });
        let answers = application.answers.iter();
        Self {
            key: application.key,
            application_id: application.id,
            wallet: application.wallet,
            answers: answers
                .map(|(name, answer)| (name.to_string(), answer.clone()))
                .collect(),
            tax_id: application.tax_id.clone(),
            documents: documents.collect(),
        }
    }
}

/// The bank's review of an application.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankReview {
    /// Id of the reviewed application.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    application_id: BankingApplicationId,
    /// Key of this submission. A later submission with more information has another key.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    key: JobId,
    /// Status of the review.
    #[serde(flatten)]
    state: BankReviewStatus,
}

/// Status of a review.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
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
        #[cfg_attr(feature = "documents", schema(value_type = Vec<String>))]
        document_ids: Vec<DocumentId>,
    },
    /// Accounts may be opened.
    Approved {
        /// The bank's reference of the customer, 1 to 200 bytes.
        #[serde(deserialize_with = "wire::name")]
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

impl BankReviewStatus {
    /// The bank's decision; otherwise the documents that it lacks.
    pub(super) fn decision(self) -> Result<BankDecision<ReviewDecision>, Vec<DocumentId>> {
        Ok(match self {
            Self::Pending { retry_after_ms } => BankDecision::Pending { retry_after_ms },
            Self::DocumentsRequired { document_ids } => return Err(document_ids),
            Self::Approved { customer } => BankDecision::Final(ReviewDecision::Approved { customer }),
            Self::Rejected { reason } => BankDecision::Final(ReviewDecision::Rejected { reason }),
            Self::InformationRequired { items: what } => {
                BankDecision::Final(ReviewDecision::InformationRequested { what })
            }
        })
    }
}

impl From<BankDecision<ReviewDecision>> for BankReviewStatus {
    fn from(decision: BankDecision<ReviewDecision>) -> Self {
        match decision {
            BankDecision::Pending { retry_after_ms } => Self::Pending { retry_after_ms },
            BankDecision::Final(ReviewDecision::Approved { customer }) => Self::Approved { customer },
            BankDecision::Final(ReviewDecision::Rejected { reason }) => Self::Rejected { reason },
            BankDecision::Final(ReviewDecision::InformationRequested { what: items }) => {
                Self::InformationRequired { items }
            }
        }
    }
}

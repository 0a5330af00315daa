//! Documents of applications on the wire, and what a server holds of them until their application is decided.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use parking_lot::Mutex;
use purser_actors::id::DocumentId;
use purser_actors::port::PortFuture;
use purser_actors::port::banking::BankDecision;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::applications::{ApplicationsApi, BankApplication, BankReviewStatus};
use super::{BankApi, PlainApplication, PlainDocument};
use crate::definition::provider;
#[cfg(feature = "documents")]
use crate::wire::SecretText;
use crate::wire::{self, MalformedResponse};
use purser_host::secret::Secret;

/// Documents held until their application is decided. The oldest are dropped first and requested again.
const MAX_DOCUMENTS: usize = 20;

provider! {
    /// Takes the documents of applications.
    trait DocumentsApi, client RemoteDocuments, tag "Banking";

    /// Uploads a document.
    fn upload(document_id: DocumentId, content: &'a Zeroizing<Vec<u8>>) -> () {
        POST "/bank-documents/{document_id}" uploadBankDocument "Upload a document that an application names";
        at document_id = document_id, "The service's id of the resource.";
        asks body it: BankDocumentBytes = BankDocumentBytes::of(content);
        calls (wire::parse::<DocumentId>(&document_id, "the id of a document")?, &it.read()?);
        answers BankDocumentReceived { document_id = document_id; } "The document is stored until its application is decided.";
    }
}

/// The bytes of a document. Repeating the upload changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BankDocumentBytes {
    /// Base64 with padding; at most 10 MiB.
    #[serde(with = "wire::secret")]
    #[cfg_attr(feature = "documents", schema(value_type = SecretText))]
    content: Secret<String>,
}

impl BankDocumentBytes {
    fn of(bytes: &[u8]) -> Self {
        let content = Secret::new(BASE64.encode(bytes));
        Self { content }
    }

    fn read(&self) -> Result<Zeroizing<Vec<u8>>, MalformedResponse> {
        let bytes = BASE64.decode(self.content.expose_secret());
        bytes
            .map(Zeroizing::new)
            .map_err(|_| MalformedResponse("a document in Base64"))
    }
}

/// Confirms that a document has arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct BankDocumentReceived {
    /// The service's id of the document.
    #[cfg_attr(feature = "documents", schema(value_type = String))]
    document_id: DocumentId,
}

/// A bank behind a server: the documents that arrived, in their order, until their application is decided.
pub(super) struct ReceivedDocuments {
    bank: Arc<dyn BankApi>,
    documents: Mutex<VecDeque<(DocumentId, Zeroizing<Vec<u8>>)>>,
}

impl ReceivedDocuments {
    pub(super) fn new(bank: Arc<dyn BankApi>) -> Self {
        let documents = Mutex::default();
        Self { bank, documents }
    }

    /// The application with its documents; otherwise the ids of those that are missing.
    fn complete(&self, application: &BankApplication) -> Result<PlainApplication, Vec<DocumentId>> {
        let received = self.documents.lock();
        let (mut documents, mut missing) = (Vec::with_capacity(application.documents.len()), Vec::new());
        for paper in &application.documents {
            let id = paper.document_id;
            match received.iter().find(|(of, _)| *of == id) {
                None => missing.push(id),
                Some((_, bytes)) => documents.push(PlainDocument {
                    id,
                    document_type: paper.document_type.clone().into(),
                    media_type: paper.media_type.clone().into(),
                    sha256: paper.sha256,
                    bytes: bytes.clone(),
                }),
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        let answers = application.answers.iter();
        Ok(PlainApplication {
            key: application.key,
            id: application.application_id,
            wallet: application.wallet,
            answers: answers
                .map(|(name, answer)| (name.clone().into(), answer.clone()))
                .collect(),
            tax_id: application.tax_id.clone(),
            documents,
        })
    }
}

impl ApplicationsApi for ReceivedDocuments {
    fn submit<'a>(&'a self, application: &'a BankApplication) -> PortFuture<'a, BankReviewStatus> {
        Box::pin(async move {
            let complete = match self.complete(application) {
                Ok(complete) => complete,
                Err(document_ids) => return Ok(BankReviewStatus::DocumentsRequired { document_ids }),
            };
            let decision = self.bank.review(complete).await?;
            if matches!(decision, BankDecision::Final(_)) {
                let named = |id: &DocumentId| application.documents.iter().any(|paper| paper.document_id == *id);
                self.documents.lock().retain(|(id, _)| !named(id));
            }
            Ok(decision.into())
        })
    }
}

impl DocumentsApi for ReceivedDocuments {
    fn upload<'a>(&'a self, document_id: DocumentId, content: &'a Zeroizing<Vec<u8>>) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let mut documents = self.documents.lock();
            documents.retain(|(id, _)| *id != document_id);
            documents.push_back((document_id, content.clone()));
            if documents.len() > MAX_DOCUMENTS {
                documents.pop_front();
            }
            Ok(())
        })
    }
}

//! The bank: applications with readable tax numbers and documents, accounts and transfers, and the adapter that opens
//! what the engine passes sealed, immediately before the call.

use std::borrow::Cow;
use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use purser_actors::id::{BankAccountId, BankingApplicationId, CardId, DocumentId, JobId, Wallet};
use purser_actors::money::Cents;
use purser_actors::port::banking::{
    Bank, BankApplicationRequest, BankDecision, BankTransferRequest, BankTransferResult, IncomingTransfer,
    OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{ErrorKind, PortError, PortFuture};
use zeroize::Zeroizing;

pub use self::accounts::{BankApi, RemoteBank};
use self::documents::ReceivedDocuments;
use purser_host::secret::Secret;
use purser_vault::{DocumentStore, Vault, VaultError};

pub mod accounts;
pub mod applications;
pub mod documents;

/// Maximum size of a document; in Base64 it is a third longer.
const MAX_DOCUMENT_BYTES: usize = 16 * 1024 * 1024;

pub(super) fn routes(bank: &Arc<dyn BankApi>) -> axum::Router {
    let received = Arc::new(ReceivedDocuments::new(bank.clone()));
    let documents = documents::routes(&(received.clone() as _)).layer(DefaultBodyLimit::max(MAX_DOCUMENT_BYTES));
    accounts::routes(bank)
        .merge(applications::routes(&(received as _)))
        .merge(documents)
}

#[cfg(feature = "documents")]
pub(super) fn describe(document: &mut super::document::Operations) {
    accounts::describe(document);
    applications::describe(document);
    documents::describe(document);
}

/// First byte of a sealed tax number.
const TAX_TAG: u8 = 0xF4;

/// An application with readable tax number and documents.
#[derive(Clone, Debug)]
pub struct PlainApplication {
    pub key: JobId,
    pub id: BankingApplicationId,
    pub wallet: Wallet,
    /// Profile fields and answers, by name.
    pub answers: Vec<(Cow<'static, str>, String)>,
    pub tax_id: Secret<String>,
    pub documents: Vec<PlainDocument>,
}

/// A document with readable content.
#[derive(Clone)]
pub struct PlainDocument {
    pub id: DocumentId,
    pub document_type: Cow<'static, str>,
    pub media_type: Cow<'static, str>,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    pub bytes: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for PlainDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlainDocument({})", self.id)
    }
}

/// Implements [`Bank`] for the engine: opens sealed data and passes it on to a [`BankApi`].
pub struct SealingBank<B: ?Sized> {
    bank: Arc<B>,
    vault: Arc<Vault>,
    documents: DocumentStore,
}

/// Seals a tax number under its application's id.
///
/// # Errors
/// When the vault cannot seal it.
pub fn seal_tax_id(vault: &Vault, id: BankingApplicationId, number: &Secret<String>) -> Result<Vec<u8>, VaultError> {
    let mut plain = Zeroizing::new(vec![TAX_TAG]);
    plain.extend_from_slice(number.expose_secret().as_bytes());
    vault.seal_bytes(CardId(id.0), &plain)
}

impl<B: BankApi + ?Sized> SealingBank<B> {
    /// Wraps `bank`; `vault` and `documents` open the sealed data.
    pub const fn new(bank: Arc<B>, vault: Arc<Vault>, documents: DocumentStore) -> Self {
        Self { bank, vault, documents }
    }

    async fn opened(&self, asked: &BankApplicationRequest) -> Result<PlainApplication, VaultError> {
        let tax = self.vault.open_bytes(CardId(asked.id.0), &asked.sealed_tax)?;
        let tax = match tax.split_first() {
            Some((&TAX_TAG, number)) => std::str::from_utf8(number).ok(),
            _ => None,
        };
        let tax = tax.ok_or(VaultError::Sealed("no tax number"))?;
        let mut documents = Vec::with_capacity(asked.documents.len());
        for paper in &asked.documents {
            documents.push(PlainDocument {
                id: paper.id,
                document_type: paper.document_type.into(),
                media_type: paper.media.into(),
                sha256: paper.sha256,
                bytes: self.documents.read(paper.id, &paper.sealed_key).await?,
            });
        }
        let answers = asked.answers.iter();
        Ok(PlainApplication {
            key: asked.key,
            id: asked.id,
            wallet: asked.wallet,
            answers: answers.map(|(name, answer)| ((*name).into(), answer.clone())).collect(),
            tax_id: Secret::new(tax.to_owned()),
            documents,
        })
    }
}

impl<B: BankApi + ?Sized> Bank for SealingBank<B> {
    fn review<'a>(&'a self, application: &'a BankApplicationRequest) -> PortFuture<'a, BankDecision<ReviewDecision>> {
        Box::pin(async move {
            // Nothing was sent. An operator has to restore the missing key or file.
            let opened = self.opened(application).await.map_err(|e| PortError {
                kind: ErrorKind::Temporary,
                operation: "review",
                message: e.to_string(),
            })?;
            self.bank.review(opened).await
        })
    }

    fn open<'a>(&'a self, order: &'a OpenAccountRequest) -> PortFuture<'a, BankDecision<OpenAccountResult>> {
        self.bank.open(order)
    }

    fn transfer<'a>(&'a self, order: &'a BankTransferRequest) -> PortFuture<'a, BankDecision<BankTransferResult>> {
        self.bank.transfer(order)
    }

    fn incoming(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingTransfer>> {
        self.bank.incoming(after, limit)
    }

    fn balance(&self, account: BankAccountId) -> PortFuture<'_, Cents> {
        self.bank.balance(account)
    }
}

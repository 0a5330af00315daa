//! The bank as it sees what it is asked: with tax numbers and documents in plain. The engine hands them over sealed; they are
//! opened here, at the last moment, and nowhere else.

use std::borrow::Cow;
use std::sync::Arc;

use purser_actors::id::{BankAccountId, BankingApplicationId, CardId, DocumentId, JobId, Wallet};
use purser_actors::money::Cents;
use purser_actors::port::banking::{
    Bank, BankApplicationRequest, BankDecision, BankTransferRequest, BankTransferResult, IncomingTransfer,
    OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};
use zeroize::Zeroizing;

use crate::secret::Secret;
use crate::vault::{DocumentStore, Vault, VaultError};

/// First byte of a sealed tax number.
const TAX_TAG: u8 = 0xF4;

/// An application in plain.
#[derive(Clone, Debug)]
pub struct PlainApplication {
    /// Idempotency key.
    pub key: JobId,
    /// Our name of it.
    pub id: BankingApplicationId,
    /// Whose.
    pub wallet: Wallet,
    /// Profile and answers, by their names.
    pub answers: Vec<(Cow<'static, str>, String)>,
    /// The tax number.
    pub tax_id: Secret<String>,
    /// Documents.
    pub documents: Vec<PlainDocument>,
}

/// A document in plain.
#[derive(Clone)]
pub struct PlainDocument {
    /// Ours.
    pub id: DocumentId,
    /// What it shows.
    pub document_type: Cow<'static, str>,
    /// Its media type.
    pub media_type: Cow<'static, str>,
    /// SHA-256 of the bytes.
    pub sha256: [u8; 32],
    /// They.
    pub bytes: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for PlainDocument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PlainDocument({})", self.id)
    }
}

/// A bank, in plain. The rules are those of [`Bank`].
pub trait BankApi: Send + Sync {
    /// Submits an application, or asks after it. `Permanent` for a key that was used with another content.
    fn review(&self, application: PlainApplication) -> BoxFuture<'_, Result<BankDecision<ReviewDecision>, PortError>>;

    /// Opens an account, or asks after it.
    fn open<'a>(
        &'a self,
        order: &'a OpenAccountRequest,
    ) -> BoxFuture<'a, Result<BankDecision<OpenAccountResult>, PortError>>;

    /// Moves money, or asks after it.
    fn transfer<'a>(
        &'a self,
        order: &'a BankTransferRequest,
    ) -> BoxFuture<'a, Result<BankDecision<BankTransferResult>, PortError>>;

    /// What came in since.
    fn incoming(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>>;

    /// What stands on an account now.
    fn balance(&self, account: BankAccountId) -> BoxFuture<'_, Result<Cents, PortError>>;
}

/// The bank as the engine may see it: what goes in is sealed.
pub struct SealingBank<B: ?Sized> {
    bank: Arc<B>,
    vault: Arc<Vault>,
    documents: DocumentStore,
}

/// Seals a tax number under its application's id.
///
/// # Errors
/// When the vault refuses.
pub fn seal_tax_id(vault: &Vault, id: BankingApplicationId, number: &Secret<String>) -> Result<Vec<u8>, VaultError> {
    let mut plain = Zeroizing::new(vec![TAX_TAG]);
    plain.extend_from_slice(number.expose_secret().as_bytes());
    vault.seal_bytes(CardId(id.0), &plain)
}

impl<B: BankApi + ?Sized> SealingBank<B> {
    /// Opens what the vault sealed, for this bank.
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
    fn review<'a>(
        &'a self,
        application: &'a BankApplicationRequest,
    ) -> BoxFuture<'a, Result<BankDecision<ReviewDecision>, PortError>> {
        Box::pin(async move {
            // Nothing was sent; a missing key or file is the operator's to bring back.
            let opened = self.opened(application).await.map_err(|e| PortError {
                kind: ErrorKind::Temporary,
                operation: "review",
                message: e.to_string(),
            })?;
            self.bank.review(opened).await
        })
    }

    fn open<'a>(
        &'a self,
        order: &'a OpenAccountRequest,
    ) -> BoxFuture<'a, Result<BankDecision<OpenAccountResult>, PortError>> {
        self.bank.open(order)
    }

    fn transfer<'a>(
        &'a self,
        order: &'a BankTransferRequest,
    ) -> BoxFuture<'a, Result<BankDecision<BankTransferResult>, PortError>> {
        self.bank.transfer(order)
    }

    fn incoming(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>> {
        self.bank.incoming(after, limit)
    }

    fn balance(&self, account: BankAccountId) -> BoxFuture<'_, Result<Cents, PortError>> {
        self.bank.balance(account)
    }
}

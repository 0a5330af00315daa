//! A remote bank.

use purser_actors::id::BankAccountId;
use purser_actors::money::Cents;
use purser_actors::port;
use purser_actors::port::banking::{
    BankDecision, BankTransferResult, IncomingTransfer, OpenAccountRequest, OpenAccountResult, ReviewDecision,
};
use purser_actors::port::{BoxFuture, ErrorKind, PortError};

use super::{RemoteClient, failed, unreadable};
use crate::provider::banking::{BankApi, PlainApplication};
use crate::provider::wire::MalformedResponse;
use crate::provider::wire::applications::{
    ApplicationReview, BankApplication, BankDocumentBytes, BankDocumentReceived, BankReview,
};
use crate::provider::wire::banking::{
    BankAccountResponse, BankTransferRequest, BankTransferResponse, OpenBankAccountRequest,
};
use crate::provider::wire::deposits::{BankBalance, BankDepositList};

/// A bank over HTTP.
pub struct RemoteBank(pub RemoteClient);

impl RemoteBank {
    async fn submitted(&self, application: &PlainApplication) -> Result<ApplicationReview, PortError> {
        const CALL: &str = "review";
        let (id, key) = (application.id, application.key);
        let wanted = BankApplication::from(application);
        let said: BankReview = self.0.post(CALL, &["bank-applications"], Some(key), &wanted).await?;
        said.read(id, key).map_err(unreadable(CALL))
    }
}

impl BankApi for RemoteBank {
    fn review(&self, application: PlainApplication) -> BoxFuture<'_, Result<BankDecision<ReviewDecision>, PortError>> {
        const CALL: &str = "review";
        Box::pin(async move {
            let missing = match self.submitted(&application).await? {
                ApplicationReview::Answered(said) => return Ok(said),
                ApplicationReview::DocumentsRequired(missing) => missing,
            };
            let papers = application.documents.iter();
            for paper in papers.filter(|paper| missing.contains(&paper.id)) {
                let path = ["bank-documents", &paper.id.to_string()];
                let bytes = BankDocumentBytes::of(&paper.bytes);
                let said: BankDocumentReceived = self.0.post(CALL, &path, None, &bytes).await?;
                if said.document_id.0 != paper.id {
                    return Err(unreadable(CALL)(MalformedResponse("it is about another document")));
                }
            }
            match self.submitted(&application).await? {
                ApplicationReview::Answered(said) => Ok(said),
                // Nothing was decided; the next attempt may find them all.
                ApplicationReview::DocumentsRequired(_) => {
                    Err(failed(ErrorKind::Temporary, CALL, "the bank lost a document"))
                }
            }
        })
    }

    fn open<'a>(
        &'a self,
        order: &'a OpenAccountRequest,
    ) -> BoxFuture<'a, Result<BankDecision<OpenAccountResult>, PortError>> {
        const CALL: &str = "open bank account";
        Box::pin(async move {
            let wanted = OpenBankAccountRequest::from(order);
            let said: BankAccountResponse = self.0.post(CALL, &["bank-accounts"], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn transfer<'a>(
        &'a self,
        order: &'a port::banking::BankTransferRequest,
    ) -> BoxFuture<'a, Result<BankDecision<BankTransferResult>, PortError>> {
        const CALL: &str = "bank transfer";
        Box::pin(async move {
            let wanted = BankTransferRequest::from(order);
            let said: BankTransferResponse = self.0.post(CALL, &["bank-transfers"], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn incoming(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<IncomingTransfer>, PortError>> {
        const CALL: &str = "bank deposits";
        Box::pin(async move {
            if !self.0.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: BankDepositList = self.0.get(CALL, &["bank-deposits"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }

    fn balance(&self, account: BankAccountId) -> BoxFuture<'_, Result<Cents, PortError>> {
        const CALL: &str = "bank balance";
        Box::pin(async move {
            let name = account.to_string();
            let said: BankBalance = self.0.get(CALL, &["bank-accounts", &name], &()).await?;
            said.read(account).map_err(unreadable(CALL))
        })
    }
}

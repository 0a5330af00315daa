//! A remote card issuer.

use purser_actors::money::Cents;
use purser_actors::port;
use purser_actors::port::{BoxFuture, CardEvent, CardSnapshot, PortError};

use super::{RemoteClient, unreadable};
use crate::provider::wire::TextValue;
use crate::provider::wire::cards::{CardReport, CvvResponse, IssueCardRequest, IssueCardResponse};
use crate::provider::wire::reloadable_cards::{CardActionRequest, CardActionResponse, CardEventList};
use crate::provider::{BillingAddress, CardIssuerApi, PlainIssueResult};
use crate::secret::Secret;

/// An issuer over HTTP.
pub struct RemoteIssuer {
    remote: RemoteClient,
    /// Shared by all cards; fetched once when the client connects.
    billing_address: BillingAddress,
}

impl RemoteIssuer {
    /// Connects and fetches the data that all cards of the issuer share.
    ///
    /// # Errors
    /// When the issuer does not answer.
    pub async fn connect(remote: RemoteClient) -> Result<Self, PortError> {
        const CALL: &str = "billing address";
        let said: crate::provider::wire::cards::BillingAddress = remote.get(CALL, &["billing-address"], &()).await?;
        Ok(Self {
            remote,
            billing_address: said.into(),
        })
    }

    /// See [`RemoteClient::unconfigured`]. The billing address is empty.
    pub(crate) const fn unconfigured() -> Self {
        Self {
            remote: RemoteClient::unconfigured(),
            billing_address: BillingAddress {
                line1: String::new(),
                city: String::new(),
                state: String::new(),
                postal_code: String::new(),
                country: String::new(),
            },
        }
    }

    async fn fetch_card(&self, operation: &'static str, issuer_ref: &str) -> Result<CardSnapshot, PortError> {
        let said: CardReport = self.remote.get(operation, &["cards", issuer_ref], &()).await?;
        said.read(issuer_ref).map_err(unreadable(operation))
    }
}

impl CardIssuerApi for RemoteIssuer {
    fn issue<'a>(&'a self, order: &'a port::IssueCardRequest) -> BoxFuture<'a, Result<PlainIssueResult, PortError>> {
        const CALL: &str = "issue";
        Box::pin(async move {
            let wanted = IssueCardRequest::from(order);
            let said: IssueCardResponse = self.remote.post(CALL, &["cards"], Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn cvv<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Secret<String>, PortError>> {
        Box::pin(async move {
            let said: CvvResponse = self.remote.get("cvv", &["cards", issuer_ref, "cvv"], &()).await?;
            Ok(said.cvv.0)
        })
    }

    fn available_balance<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<Cents, PortError>> {
        Box::pin(async move {
            let said = self.fetch_card("available balance", issuer_ref).await?;
            Ok(said.activity.available)
        })
    }

    fn card_snapshot<'a>(&'a self, issuer_ref: &'a str) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        Box::pin(self.fetch_card("standing", issuer_ref))
    }

    fn apply_action<'a>(
        &'a self,
        order: &'a port::CardActionRequest,
    ) -> BoxFuture<'a, Result<CardSnapshot, PortError>> {
        const CALL: &str = "change card state";
        Box::pin(async move {
            let path = ["cards", &order.issuer_ref, "actions"];
            let wanted = CardActionRequest {
                card_id: TextValue(order.card),
                action: order.action.into(),
            };
            let said: CardActionResponse = self.remote.post(CALL, &path, Some(order.key), &wanted).await?;
            said.read(order).map_err(unreadable(CALL))
        })
    }

    fn events_after(&self, after: u64, limit: usize) -> BoxFuture<'_, Result<Vec<CardEvent>, PortError>> {
        const CALL: &str = "prepaid card words";
        Box::pin(async move {
            if !self.remote.is_configured() {
                return Ok(Vec::new());
            }
            let query = [("after", after), ("limit", limit as u64)];
            let said: CardEventList = self.remote.get(CALL, &["prepaid-card-events"], &query).await?;
            said.read(after).map_err(unreadable(CALL))
        })
    }

    fn billing_address(&self) -> BillingAddress {
        self.billing_address.clone()
    }
}

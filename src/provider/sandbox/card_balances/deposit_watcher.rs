//! Sources of USDC deposits on Base: the chain in the same process, or, for a remote issuer, the chain of a service's
//! sandbox through `GET /sandbox/transfers`.

use std::time::Duration;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;
use purser_actors::port::{ErrorKind, PortError, PortFuture, Timestamp};
use reqwest::{Client, Url};
use serde::Deserialize;

use purser_sandbox::chains::SandboxSettlement;

/// Timeout for one page.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a page: a thousand transfers.
const MAX_PAGE_BYTES: usize = 4 * 1024 * 1024;

/// A transfer on Base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingUsdc {
    /// Position on the chain, from 1.
    pub position: u64,
    pub transaction: String,
    pub to: [u8; 20],
    pub amount: Usdc,
    /// Time on the chain's clock.
    pub at: Timestamp,
}

/// A Base chain that can be scanned.
pub trait DepositSource: Send + Sync {
    /// Transfers to any address after a position, oldest first, at most `limit`.
    fn deposits_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingUsdc>>;
}

impl DepositSource for SandboxSettlement {
    fn deposits_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingUsdc>> {
        Box::pin(async move {
            let page = self.transfers(Network::Base, after, limit).await;
            let page = page.map_err(|e| unavailable(&e.to_string()))?.into_iter();
            let deposits = page.map(|seen| Transfer {
                position: seen.position,
                id: seen.id,
                to: seen.to,
                amount: seen.amount,
                at: seen.at,
            });
            deposits.map(Transfer::read).collect()
        })
    }
}

/// The Base chain of a service's sandbox.
pub struct RemoteDepositSource {
    http: Client,
    transfers: Url,
}

impl RemoteDepositSource {
    /// Connects on first use.
    ///
    /// # Errors
    /// When the URL takes no path, or TLS cannot be set up on this machine.
    pub fn of(service: &Url) -> Result<Self, String> {
        let transfers = service.join("/sandbox/transfers").map_err(|e| e.to_string())?;
        let http = purser_host::outbound::client().no_proxy().timeout(TIMEOUT).build();
        let http = http.map_err(|e| e.to_string())?;
        Ok(Self { http, transfers })
    }

    async fn page(&self, after: u64, limit: usize) -> Result<Vec<u8>, reqwest::Error> {
        let query = [
            ("network", "base".to_owned()),
            ("after", after.to_string()),
            ("limit", limit.to_string()),
        ];
        let answer = self.http.get(self.transfers.clone()).query(&query).send().await?;
        let mut answer = answer.error_for_status()?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_PAGE_BYTES {
                break;
            }
        }
        Ok(body)
    }
}

impl DepositSource for RemoteDepositSource {
    fn deposits_after(&self, after: u64, limit: usize) -> PortFuture<'_, Vec<IncomingUsdc>> {
        Box::pin(async move {
            let page = self.page(after, limit).await;
            let page = page.map_err(|e| unavailable(&e.without_url().to_string()))?;
            let page: Page = serde_json::from_slice(&page).map_err(|e| unavailable(&e.to_string()))?;
            page.transfers.into_iter().map(Transfer::read).collect()
        })
    }
}

/// The fields of a `GET /sandbox/transfers` page that are needed here.
#[derive(Deserialize)]
struct Page {
    transfers: Vec<Transfer>,
}

#[derive(Deserialize)]
struct Transfer {
    position: u64,
    id: String,
    to: String,
    amount: u64,
    at: u64,
}

impl Transfer {
    fn read(self) -> Result<IncomingUsdc, PortError> {
        match self.to.parse() {
            Ok(Wallet::Evm(to)) => Ok(IncomingUsdc {
                position: self.position,
                transaction: self.id,
                to,
                amount: Usdc::from_atomic(self.amount),
                at: Timestamp(self.at),
            }),
            _ => Err(unavailable("a receiver that is no address on Base")),
        }
    }
}

fn unavailable(message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Temporary,
        operation: "card balance",
        message: format!("the chain cannot be read: {message}"),
    }
}

//! RPC to the sandbox's chains, for the bridge. It runs in the same process or in another one (`purser serve-providers
//! --chain-url`). The latter sends `POST /sandbox/chain-rpc` to the service that runs the chains.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bincode::{Decode, Encode};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, ChainStatus, Decline, ErrorKind, Finality, OutgoingTransferRequest, PortError, PortFuture,
    Preparation, PreparedTransaction, Settlement as _, SubmitResult,
};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};

use super::{SandboxSettlement, SandboxStoreError};

/// Timeout of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum response size.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// A request to the sandbox's chains.
#[derive(Clone, Debug, Encode, Decode)]
pub enum ChainRequest {
    /// Sign a transfer out of the treasury.
    Sign {
        /// Idempotency key of the transfer.
        key: u128,
        /// The receiving wallet.
        to: Wallet,
        /// Amount in atomic USDC.
        amount: u64,
    },
    /// Prepare a transaction.
    Prepare(Authorization),
    /// Submit a prepared transaction.
    Submit(Authorization, PreparedTransaction),
    /// Look up the status of a payment.
    Lookup(Authorization, Option<PreparedTransaction>),
    /// Read the balance of a wallet.
    Balance(Wallet),
    /// Credit a wallet with this amount of atomic USDC.
    Fund(Wallet, u64),
    /// Whether Solana has this transaction of the treasury.
    HasOutgoingTransfer(String),
}

/// A response of the sandbox's chains.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ChainResponse {
    /// The signed authorization.
    Signed(Authorization),
    /// The prepared transaction.
    Ready(PreparedTransaction),
    /// On the chain, in this transaction.
    Settled(String, Finality),
    /// Declined for now, or not prepared because it would be declined.
    Declined(Decline),
    /// Found on the chain, in this transaction.
    Confirmed(String, Finality),
    /// Not found; it may still settle.
    Pending,
    /// Not found; it can never settle.
    Impossible,
    /// Amount in atomic USDC.
    Amount(u64),
    /// Result of a yes-or-no request.
    Boolean(bool),
}

/// Access to the sandbox's chains, local or remote.
pub trait ChainRpc: Send + Sync {
    /// Sends a request and returns its response.
    fn call(&self, asked: ChainRequest) -> PortFuture<'_, ChainResponse>;
}

impl dyn ChainRpc {
    /// Same contract as [`Settlement::sign`](purser_actors::port::Settlement::sign).
    ///
    /// # Errors
    /// Same as there.
    pub async fn sign(&self, transfer: &OutgoingTransferRequest) -> Result<Authorization, PortError> {
        let OutgoingTransferRequest { key, to, amount } = *transfer;
        let amount = amount.atomic();
        match self.call(ChainRequest::Sign { key, to, amount }).await? {
            ChainResponse::Signed(authorization) => Ok(authorization),
            _ => Err(unexpected_response()),
        }
    }

    /// Same contract as [`Settlement::prepare`](purser_actors::port::Settlement::prepare).
    ///
    /// # Errors
    /// Same as there.
    pub async fn prepare(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        match self.call(ChainRequest::Prepare(authorization.clone())).await? {
            ChainResponse::Ready(prepared) => Ok(Preparation::Ready(prepared)),
            ChainResponse::Declined(decline) => Ok(Preparation::Declined(decline)),
            _ => Err(unexpected_response()),
        }
    }

    /// Same contract as [`Settlement::submit`](purser_actors::port::Settlement::submit).
    ///
    /// # Errors
    /// Same as there.
    pub async fn submit(
        &self,
        authorization: &Authorization,
        prepared: &PreparedTransaction,
    ) -> Result<SubmitResult, PortError> {
        let asked = ChainRequest::Submit(authorization.clone(), prepared.clone());
        match self.call(asked).await? {
            ChainResponse::Settled(transaction, finality) => Ok(SubmitResult::Settled { transaction, finality }),
            ChainResponse::Declined(decline) => Ok(SubmitResult::Declined(decline)),
            _ => Err(unexpected_response()),
        }
    }

    /// Same contract as [`Settlement::lookup`](purser_actors::port::Settlement::lookup).
    ///
    /// # Errors
    /// Same as there.
    pub async fn lookup(
        &self,
        authorization: &Authorization,
        prepared: Option<&PreparedTransaction>,
    ) -> Result<ChainStatus, PortError> {
        let asked = ChainRequest::Lookup(authorization.clone(), prepared.cloned());
        match self.call(asked).await? {
            ChainResponse::Confirmed(transaction, finality) => Ok(ChainStatus::Confirmed { transaction, finality }),
            ChainResponse::Pending => Ok(ChainStatus::Pending),
            ChainResponse::Impossible => Ok(ChainStatus::Impossible),
            _ => Err(unexpected_response()),
        }
    }

    /// Available balance of a wallet.
    ///
    /// # Errors
    /// When the chain does not respond.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, PortError> {
        match self.call(ChainRequest::Balance(*wallet)).await? {
            ChainResponse::Amount(atomic) => Ok(Usdc::from_atomic(atomic)),
            _ => Err(unexpected_response()),
        }
    }

    /// Credits a wallet with test USDC.
    ///
    /// # Errors
    /// When the chain does not respond.
    pub async fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<(), PortError> {
        self.call(ChainRequest::Fund(wallet, amount.atomic())).await.map(drop)
    }

    /// Whether Solana has a transfer out of the treasury with this id.
    ///
    /// # Errors
    /// When the chain does not respond.
    pub async fn has_outgoing_transfer(&self, transaction: &str) -> Result<bool, PortError> {
        match self
            .call(ChainRequest::HasOutgoingTransfer(transaction.to_owned()))
            .await?
        {
            ChainResponse::Boolean(left) => Ok(left),
            _ => Err(unexpected_response()),
        }
    }
}

impl SandboxSettlement {
    async fn execute_request(&self, asked: ChainRequest) -> Result<ChainResponse, PortError> {
        let stopped = |e: SandboxStoreError| failed(ErrorKind::Temporary, &e.to_string());
        Ok(match asked {
            ChainRequest::Sign { key, to, amount } => {
                let amount = Usdc::from_atomic(amount);
                ChainResponse::Signed(self.sign(&OutgoingTransferRequest { key, to, amount }).await?)
            }
            ChainRequest::Prepare(authorization) => match self.prepare(&authorization).await? {
                Preparation::Ready(prepared) => ChainResponse::Ready(prepared),
                Preparation::Declined(decline) => ChainResponse::Declined(decline),
            },
            ChainRequest::Submit(authorization, prepared) => match self.submit(&authorization, &prepared).await? {
                SubmitResult::Settled { transaction, finality } => ChainResponse::Settled(transaction, finality),
                SubmitResult::Declined(decline) => ChainResponse::Declined(decline),
            },
            ChainRequest::Lookup(authorization, prepared) => {
                match self.lookup(&authorization, prepared.as_ref()).await? {
                    ChainStatus::Confirmed { transaction, finality } => ChainResponse::Confirmed(transaction, finality),
                    ChainStatus::Pending => ChainResponse::Pending,
                    ChainStatus::Impossible => ChainResponse::Impossible,
                }
            }
            ChainRequest::Balance(wallet) => {
                ChainResponse::Amount(self.balance(&wallet).await.map_err(stopped)?.atomic())
            }
            ChainRequest::Fund(wallet, atomic) => {
                let funded = self.fund(wallet, Usdc::from_atomic(atomic)).await;
                ChainResponse::Boolean(funded.map_err(stopped)?.is_ok())
            }
            ChainRequest::HasOutgoingTransfer(transaction) => {
                ChainResponse::Boolean(self.has_outgoing_transfer(&transaction).await.map_err(stopped)?)
            }
        })
    }
}

impl ChainRpc for SandboxSettlement {
    fn call(&self, asked: ChainRequest) -> PortFuture<'_, ChainResponse> {
        Box::pin(self.execute_request(asked))
    }
}

/// Body of `POST /sandbox/chain-rpc`: Purser's own encoding in Base64. Client and service must have the same version.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ChainRpcRequest {
    /// Encoded request, in Base64.
    pub request: String,
}

/// Response to `POST /sandbox/chain-rpc`, encoded like the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct ChainRpcResponse {
    /// Encoded result or error of the chains, in Base64.
    pub response: String,
}

/// Response of the chains, or the kind and text of its error.
type EncodedResult = Result<ChainResponse, (u8, String)>;

const KINDS: [ErrorKind; 3] = [ErrorKind::Permanent, ErrorKind::Temporary, ErrorKind::Unknown];

impl ChainRpcRequest {
    fn from_request(asked: &ChainRequest) -> Self {
        Self { request: text(asked) }
    }

    /// Executes the request on local chains; `None` if it cannot be decoded.
    pub async fn execute(&self, chains: &SandboxSettlement) -> Option<ChainRpcResponse> {
        let said = chains.execute_request(read(&self.request)?).await;
        let said: EncodedResult = said.map_err(|error| {
            let kind = KINDS.iter().position(|kind| *kind == error.kind).unwrap_or_default();
            (u8::try_from(kind).unwrap_or_default(), error.message)
        });
        Some(ChainRpcResponse { response: text(&said) })
    }
}

fn text<T: Encode>(value: &T) -> String {
    // Encoding plain data into memory has no failing case.
    BASE64.encode(bincode::encode_to_vec(value, bincode::config::standard()).unwrap_or_default())
}

fn read<T: Decode<()>>(text: &str) -> Option<T> {
    let bytes = BASE64.decode(text).ok()?;
    let (value, used) = bincode::decode_from_slice(&bytes, bincode::config::standard()).ok()?;
    (used == bytes.len()).then_some(value)
}

/// The chains of another service's sandbox.
pub struct RemoteChains {
    http: Client,
    settlement: Url,
}

impl RemoteChains {
    /// Creates a client, which connects with the first request.
    ///
    /// # Errors
    /// When the URL cannot have a path, or TLS is not available.
    pub fn connect(service: &Url) -> Result<Self, String> {
        let settlement = service.join("/sandbox/chain-rpc").map_err(|e| e.to_string())?;
        let http = purser_host::outbound::client().no_proxy().timeout(TIMEOUT).build();
        let http = http.map_err(|e| e.to_string())?;
        Ok(Self { http, settlement })
    }

    async fn send(&self, asked: ChainRequest) -> Result<ChainResponse, PortError> {
        let lost = |e: reqwest::Error| {
            let kind = match e.is_connect() {
                true => ErrorKind::Temporary,
                false => ErrorKind::Unknown,
            };
            failed(kind, &e.without_url().to_string())
        };
        let request = self
            .http
            .post(self.settlement.clone())
            .json(&ChainRpcRequest::from_request(&asked));
        let answer = request.send().await.map_err(lost)?;
        let mut answer = answer.error_for_status().map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_RESPONSE_BYTES {
                return Err(unexpected_response());
            }
        }
        let reply: ChainRpcResponse = serde_json::from_slice(&body).map_err(|_| unexpected_response())?;
        let said: EncodedResult = read(&reply.response).ok_or_else(unexpected_response)?;
        said.map_err(|(kind, message)| {
            let kind = KINDS.get(usize::from(kind)).copied();
            failed(kind.unwrap_or(ErrorKind::Unknown), &message)
        })
    }
}

impl ChainRpc for RemoteChains {
    fn call(&self, asked: ChainRequest) -> PortFuture<'_, ChainResponse> {
        Box::pin(self.send(asked))
    }
}

fn unexpected_response() -> PortError {
    failed(ErrorKind::Unknown, "the answer is not one to what was asked")
}

fn failed(kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation: "chain",
        message: message.to_owned(),
    }
}

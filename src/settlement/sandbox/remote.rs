//! The sandbox's chains for whoever acts on them: the bridge, in the same process or in another (`purser provider --chain-of`),
//! which asks by `POST /sandbox/settlement` of the service whose chains they are.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bincode::{Decode, Encode};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, ChainStatus, Decline, ErrorKind, Finality, OutgoingTransferRequest, PortError,
    Preparation, PreparedTransaction, Settlement as _, SubmitResult,
};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};

use super::{LogError, SandboxSettlement};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer.
const MAX_RESPONSE_BYTES: usize = 64 * 1024;

/// What chains are asked.
#[derive(Clone, Debug, Encode, Decode)]
pub enum ChainRequest {
    /// To sign a transfer out of the treasury.
    Sign {
        /// What it is for.
        key: u128,
        /// Who receives it.
        to: Wallet,
        /// Atomic USDC.
        amount: u64,
    },
    /// To make ready what will be sent.
    Prepare(Authorization),
    /// To take it.
    Submit(Authorization, PreparedTransaction),
    /// What is there of it.
    Lookup(Authorization, Option<PreparedTransaction>),
    /// What a wallet holds.
    Balance(Wallet),
    /// To give a wallet so much.
    Fund(Wallet, u64),
    /// Whether this transaction of the treasury is on Solana.
    HasOutgoingTransfer(String),
}

/// What chains say.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum ChainResponse {
    /// Signed.
    Signed(Authorization),
    /// Made ready.
    Ready(PreparedTransaction),
    /// On the chain, as this transaction.
    Settled(String, Finality),
    /// Refused for now, or not made ready since it would be refused.
    Declined(Decline),
    /// Found, as this transaction.
    Confirmed(String, Finality),
    /// Not found.
    Pending,
    /// Not found, and it never will be.
    Impossible,
    /// So much.
    Amount(u64),
    /// Yes or no.
    Boolean(bool),
}

/// Chains that can be acted on.
pub trait ChainRpc: Send + Sync {
    /// Asks.
    fn call(&self, asked: ChainRequest) -> BoxFuture<'_, Result<ChainResponse, PortError>>;
}

impl dyn ChainRpc {
    /// See [`Settlement::sign`](purser_actors::port::Settlement::sign).
    ///
    /// # Errors
    /// As it has.
    pub async fn sign(&self, transfer: &OutgoingTransferRequest) -> Result<Authorization, PortError> {
        let OutgoingTransferRequest { key, to, amount } = *transfer;
        let amount = amount.atomic();
        match self.call(ChainRequest::Sign { key, to, amount }).await? {
            ChainResponse::Signed(authorization) => Ok(authorization),
            _ => Err(unexpected_response()),
        }
    }

    /// See [`Settlement::prepare`](purser_actors::port::Settlement::prepare).
    ///
    /// # Errors
    /// As it has.
    pub async fn prepare(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        match self.call(ChainRequest::Prepare(authorization.clone())).await? {
            ChainResponse::Ready(prepared) => Ok(Preparation::Ready(prepared)),
            ChainResponse::Declined(decline) => Ok(Preparation::Declined(decline)),
            _ => Err(unexpected_response()),
        }
    }

    /// See [`Settlement::submit`](purser_actors::port::Settlement::submit).
    ///
    /// # Errors
    /// As it has.
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

    /// See [`Settlement::lookup`](purser_actors::port::Settlement::lookup).
    ///
    /// # Errors
    /// As it has.
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

    /// What a wallet can spend.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, PortError> {
        match self.call(ChainRequest::Balance(*wallet)).await? {
            ChainResponse::Amount(atomic) => Ok(Usdc::from_atomic(atomic)),
            _ => Err(unexpected_response()),
        }
    }

    /// Gives a wallet test USDC.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<(), PortError> {
        self.call(ChainRequest::Fund(wallet, amount.atomic())).await.map(drop)
    }

    /// Whether Solana has a transfer out of the treasury under this id.
    ///
    /// # Errors
    /// When the chain does not answer.
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
        let stopped = |e: LogError| failed(ErrorKind::Temporary, &e.to_string());
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
    fn call(&self, asked: ChainRequest) -> BoxFuture<'_, Result<ChainResponse, PortError>> {
        Box::pin(self.execute_request(asked))
    }
}

/// The body of `POST /sandbox/settlement`: `purser`'s own encoding of the same version, in Base64.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChainRpcRequest {
    /// What is asked.
    pub request: String,
}

/// Its answer, encoded likewise.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ChainRpcResponse {
    /// What the chains say, or why they say nothing.
    pub response: String,
}

/// What a chain says, or the kind and the words of its error.
type EncodedResult = Result<ChainResponse, (u8, String)>;

const KINDS: [ErrorKind; 3] = [ErrorKind::Permanent, ErrorKind::Temporary, ErrorKind::Unknown];

impl ChainRpcRequest {
    fn from_request(asked: &ChainRequest) -> Self {
        Self { request: text(asked) }
    }

    /// Asks the chains here; nothing when it is no question.
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

/// The chains of a service's sandbox.
pub struct RemoteChains {
    http: Client,
    settlement: Url,
}

impl RemoteChains {
    /// Connects when first asked.
    ///
    /// # Errors
    /// When the URL takes no path, or the machine has no means for TLS.
    pub fn connect(service: &Url) -> Result<Self, String> {
        let settlement = service.join("/sandbox/settlement").map_err(|e| e.to_string())?;
        let http = crate::outbound::client().no_proxy().timeout(TIMEOUT).build();
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
    fn call(&self, asked: ChainRequest) -> BoxFuture<'_, Result<ChainResponse, PortError>> {
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

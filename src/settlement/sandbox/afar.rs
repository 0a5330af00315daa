//! The sandbox's chains for whoever acts on them: the bridge, in the same process or in another (`purser provider --chain-of`),
//! which asks by `POST /sandbox/settlement` of the service whose chains they are.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bincode::{Decode, Encode};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    Authorization, BoxFuture, Decline, ErrorKind, Finality, Lookup, PortError, Preparation, Prepared, Settlement as _,
    Submitted, Transfer,
};
use reqwest::{Client, Url};
use serde::{Deserialize, Serialize};

use super::{LogError, SandboxSettlement};

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The longest answer.
const MAX_ANSWER_BYTES: usize = 64 * 1024;

/// What chains are asked.
#[derive(Clone, Debug, Encode, Decode)]
pub enum Asked {
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
    Submit(Authorization, Prepared),
    /// What is there of it.
    Lookup(Authorization, Option<Prepared>),
    /// What a wallet holds.
    Balance(Wallet),
    /// To give a wallet so much.
    Fund(Wallet, u64),
    /// Whether this transaction of the treasury is on Solana.
    HasLeft(String),
}

/// What chains say.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Said {
    /// Signed.
    Signed(Authorization),
    /// Made ready.
    Ready(Prepared),
    /// On the chain, as this transaction.
    Settled(String, Finality),
    /// Refused for now, or not made ready since it would be refused.
    Declined(Decline),
    /// Found, as this transaction.
    Landed(String, Finality),
    /// Not found.
    Pending,
    /// Not found, and it never will be.
    Impossible,
    /// So much.
    Amount(u64),
    /// Yes or no.
    Truth(bool),
}

/// Chains that can be acted on.
pub trait Chains: Send + Sync {
    /// Asks.
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Said, PortError>>;
}

impl dyn Chains {
    /// See [`Settlement::sign`](purser_actors::port::Settlement::sign).
    ///
    /// # Errors
    /// As it has.
    pub async fn sign(&self, transfer: &Transfer) -> Result<Authorization, PortError> {
        let Transfer { key, to, amount } = *transfer;
        let amount = amount.atomic();
        match self.ask(Asked::Sign { key, to, amount }).await? {
            Said::Signed(authorization) => Ok(authorization),
            _ => Err(mixed_up()),
        }
    }

    /// See [`Settlement::prepare`](purser_actors::port::Settlement::prepare).
    ///
    /// # Errors
    /// As it has.
    pub async fn prepare(&self, authorization: &Authorization) -> Result<Preparation, PortError> {
        match self.ask(Asked::Prepare(authorization.clone())).await? {
            Said::Ready(prepared) => Ok(Preparation::Ready(prepared)),
            Said::Declined(decline) => Ok(Preparation::Declined(decline)),
            _ => Err(mixed_up()),
        }
    }

    /// See [`Settlement::submit`](purser_actors::port::Settlement::submit).
    ///
    /// # Errors
    /// As it has.
    pub async fn submit(&self, authorization: &Authorization, prepared: &Prepared) -> Result<Submitted, PortError> {
        let asked = Asked::Submit(authorization.clone(), prepared.clone());
        match self.ask(asked).await? {
            Said::Settled(transaction, finality) => Ok(Submitted::Settled { transaction, finality }),
            Said::Declined(decline) => Ok(Submitted::Declined(decline)),
            _ => Err(mixed_up()),
        }
    }

    /// See [`Settlement::lookup`](purser_actors::port::Settlement::lookup).
    ///
    /// # Errors
    /// As it has.
    pub async fn lookup(
        &self,
        authorization: &Authorization,
        prepared: Option<&Prepared>,
    ) -> Result<Lookup, PortError> {
        let asked = Asked::Lookup(authorization.clone(), prepared.cloned());
        match self.ask(asked).await? {
            Said::Landed(transaction, finality) => Ok(Lookup::Landed { transaction, finality }),
            Said::Pending => Ok(Lookup::Pending),
            Said::Impossible => Ok(Lookup::Impossible),
            _ => Err(mixed_up()),
        }
    }

    /// What a wallet can spend.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn balance(&self, wallet: &Wallet) -> Result<Usdc, PortError> {
        match self.ask(Asked::Balance(*wallet)).await? {
            Said::Amount(atomic) => Ok(Usdc::from_atomic(atomic)),
            _ => Err(mixed_up()),
        }
    }

    /// Gives a wallet test USDC.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn fund(&self, wallet: Wallet, amount: Usdc) -> Result<(), PortError> {
        self.ask(Asked::Fund(wallet, amount.atomic())).await.map(drop)
    }

    /// Whether Solana has a transfer out of the treasury under this id.
    ///
    /// # Errors
    /// When the chain does not answer.
    pub async fn has_left(&self, transaction: &str) -> Result<bool, PortError> {
        match self.ask(Asked::HasLeft(transaction.to_owned())).await? {
            Said::Truth(left) => Ok(left),
            _ => Err(mixed_up()),
        }
    }
}

impl SandboxSettlement {
    async fn answered(&self, asked: Asked) -> Result<Said, PortError> {
        let stopped = |e: LogError| failed(ErrorKind::Temporary, &e.to_string());
        Ok(match asked {
            Asked::Sign { key, to, amount } => {
                let amount = Usdc::from_atomic(amount);
                Said::Signed(self.sign(&Transfer { key, to, amount }).await?)
            }
            Asked::Prepare(authorization) => match self.prepare(&authorization).await? {
                Preparation::Ready(prepared) => Said::Ready(prepared),
                Preparation::Declined(decline) => Said::Declined(decline),
            },
            Asked::Submit(authorization, prepared) => match self.submit(&authorization, &prepared).await? {
                Submitted::Settled { transaction, finality } => Said::Settled(transaction, finality),
                Submitted::Declined(decline) => Said::Declined(decline),
            },
            Asked::Lookup(authorization, prepared) => match self.lookup(&authorization, prepared.as_ref()).await? {
                Lookup::Landed { transaction, finality } => Said::Landed(transaction, finality),
                Lookup::Pending => Said::Pending,
                Lookup::Impossible => Said::Impossible,
            },
            Asked::Balance(wallet) => Said::Amount(self.balance(&wallet).await.map_err(stopped)?.atomic()),
            Asked::Fund(wallet, atomic) => {
                let funded = self.fund(wallet, Usdc::from_atomic(atomic)).await;
                Said::Truth(funded.map_err(stopped)?.is_ok())
            }
            Asked::HasLeft(transaction) => Said::Truth(self.has_left(&transaction).await.map_err(stopped)?),
        })
    }
}

impl Chains for SandboxSettlement {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Said, PortError>> {
        Box::pin(self.answered(asked))
    }
}

/// The body of `POST /sandbox/settlement`: `purser`'s own encoding of the same version, in Base64.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// What is asked.
    pub asked: String,
}

/// Its answer, encoded likewise.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Reply {
    /// What the chains say, or why they say nothing.
    pub said: String,
}

/// What a chain says, or the kind and the words of its error.
type Encoded = Result<Said, (u8, String)>;

const KINDS: [ErrorKind; 3] = [ErrorKind::Permanent, ErrorKind::Temporary, ErrorKind::Unknown];

impl Question {
    fn of(asked: &Asked) -> Self {
        Self { asked: text(asked) }
    }

    /// Asks the chains here; nothing when it is no question.
    pub async fn put(&self, chains: &SandboxSettlement) -> Option<Reply> {
        let said = chains.answered(read(&self.asked)?).await;
        let said: Encoded = said.map_err(|error| {
            let kind = KINDS.iter().position(|kind| *kind == error.kind).unwrap_or_default();
            (u8::try_from(kind).unwrap_or_default(), error.message)
        });
        Some(Reply { said: text(&said) })
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
pub struct ServiceChains {
    http: Client,
    settlement: Url,
}

impl ServiceChains {
    /// Connects when first asked.
    ///
    /// # Errors
    /// When the URL takes no path, or the machine has no means for TLS.
    pub fn of(service: &Url) -> Result<Self, String> {
        let settlement = service.join("/sandbox/settlement").map_err(|e| e.to_string())?;
        let http = crate::outbound::client().no_proxy().timeout(TIMEOUT).build();
        let http = http.map_err(|e| e.to_string())?;
        Ok(Self { http, settlement })
    }

    async fn asked(&self, asked: Asked) -> Result<Said, PortError> {
        let lost = |e: reqwest::Error| {
            let kind = match e.is_connect() {
                true => ErrorKind::Temporary,
                false => ErrorKind::Unknown,
            };
            failed(kind, &e.without_url().to_string())
        };
        let request = self.http.post(self.settlement.clone()).json(&Question::of(&asked));
        let answer = request.send().await.map_err(lost)?;
        let mut answer = answer.error_for_status().map_err(lost)?;
        let mut body = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(lost)? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ANSWER_BYTES {
                return Err(mixed_up());
            }
        }
        let reply: Reply = serde_json::from_slice(&body).map_err(|_| mixed_up())?;
        let said: Encoded = read(&reply.said).ok_or_else(mixed_up)?;
        said.map_err(|(kind, message)| {
            let kind = KINDS.get(usize::from(kind)).copied();
            failed(kind.unwrap_or(ErrorKind::Unknown), &message)
        })
    }
}

impl Chains for ServiceChains {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Result<Said, PortError>> {
        Box::pin(self.asked(asked))
    }
}

fn mixed_up() -> PortError {
    failed(ErrorKind::Unknown, "the answer is not one to what was asked")
}

fn failed(kind: ErrorKind, message: &str) -> PortError {
    PortError {
        kind,
        operation: "chain",
        message: message.to_owned(),
    }
}

//! Tokens of servers, stored beside the wallet in a private file, one set per server. They are refreshed, or replaced
//! by signing in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use purser_actors::id::Network;
use purser_actors::port::{Clock as _, Timestamp};
use reqwest::Url;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::http_client::{HttpClient, HttpResponse, at, authority};
use super::{CliError, NetworkArg, ServerArgs, TlsArgs, WalletArgs, terminal};
use purser_host::private_file;
use purser_host::system::{SystemClock, SystemEntropy};
use purser_protocol::wallet::{MppOffer, PaymentRequired, TestWallet, WalletError};

/// A token that expires within this time is not used any more.
const SPARE_SECONDS: u64 = 30;

/// Tokens of one server.
#[derive(Clone, Serialize, Deserialize, Zeroize, ZeroizeOnDrop)]
struct StoredTokens {
    id_token: String,
    refresh_token: String,
    user_id: String,
    /// Expiry in Unix seconds.
    expires_at: u64,
    /// Whether the wallet signed in for these tokens: they allow more than those of a payment.
    #[serde(default)]
    signed_in: bool,
}

/// A wallet and the server at which it signs in.
#[derive(Clone, Debug, clap::Args)]
pub struct SignInArgs {
    /// Server address. Default: where the server of the data directory listened last, else http://127.0.0.1:8402
    pub url: Option<String>,
    /// Account to use
    #[command(flatten)]
    pub account: AccountArgs,
}

impl SignInArgs {
    /// As [`AccountArgs::signer`].
    pub(super) fn signer(&self) -> Result<Signer, CliError> {
        self.account.signer(self.url.as_deref())
    }
}

/// A wallet's account at a server.
#[derive(Clone, Debug, clap::Args)]
pub struct AccountArgs {
    /// Service to use without a URL
    #[command(flatten)]
    pub server: ServerArgs,
    /// Network of the wallet's account
    #[arg(long, value_enum, default_value = "base")]
    pub network: NetworkArg,
    /// Wallet to sign in with
    #[command(flatten)]
    pub file: WalletArgs,
    /// Certificates to trust
    #[command(flatten)]
    pub tls: TlsArgs,
}

impl AccountArgs {
    /// Loads the wallet; it is created if it does not exist.
    pub(super) fn signer(&self, url: Option<&str>) -> Result<Signer, CliError> {
        let server = self.server.server(url)?;
        let wallet_file = self.file.path()?;
        let (wallet, _) = TestWallet::load_or_create(&wallet_file, &SystemEntropy)?;
        Ok(Signer {
            remote: HttpClient::new(&self.tls, &server)?,
            server,
            network: Network::from(self.network),
            wallet_file,
            wallet,
        })
    }
}

/// What [`AccountArgs`] name.
pub(super) struct Signer {
    pub(super) server: Url,
    pub(super) remote: HttpClient,
    wallet_file: PathBuf,
    wallet: TestWallet,
    network: Network,
}

impl Signer {
    /// Address of the account's wallet.
    pub(super) fn address(&self) -> String {
        self.wallet.address(self.network)
    }

    pub(super) fn session(&self) -> Session<'_> {
        Session::new(&self.wallet_file, &self.wallet, self.network)
    }
}

/// The token file of a wallet.
pub(super) struct Session<'a> {
    path: PathBuf,
    wallet: &'a TestWallet,
    /// Network of the account: a wallet has one account on each chain.
    network: Network,
}

impl<'a> Session<'a> {
    pub(super) fn new(wallet_file: &Path, wallet: &'a TestWallet, network: Network) -> Self {
        Self {
            path: wallet_file.with_extension("tokens.json"),
            wallet,
            network,
        }
    }

    /// Stores the `auth` object of a paid response, unless the wallet has signed in: tokens of a payment allow less.
    /// Returns whether there was one.
    pub(super) fn persist_tokens(&self, server: &Url, body: &Value) -> Result<bool, CliError> {
        let Some(tokens) = body
            .get("auth")
            .and_then(|auth| StoredTokens::read(auth, &body["user_id"]))
        else {
            return Ok(false);
        };
        let kept = self.load()?.remove(&self.key(server));
        if kept.is_none_or(|kept| !kept.signed_in) {
            self.store(server, tokens)?;
        }
        Ok(true)
    }

    /// A valid token for which the wallet signed in.
    pub(super) async fn signed_in_token(
        &self,
        remote: &HttpClient,
        server: &Url,
    ) -> Result<Zeroizing<String>, CliError> {
        let stored = self.load()?.remove(&self.key(server));
        match stored {
            Some(tokens) if tokens.signed_in => self.id_token(remote, server).await,
            _ => self.sign_in(remote, server).await,
        }
    }

    /// A valid token: the stored one, a refreshed one, or one from signing in.
    pub(super) async fn id_token(&self, remote: &HttpClient, server: &Url) -> Result<Zeroizing<String>, CliError> {
        let stored = self.load()?.remove(&self.key(server));
        if let Some(tokens) = stored {
            if tokens.expires_at > SystemClock.now().seconds() + SPARE_SECONDS {
                return Ok(Zeroizing::new(tokens.id_token.clone()));
            }
            let body = json!({"grant_type": "refresh_token", "refresh_token": tokens.refresh_token.as_str()});
            let answer = remote.post(&at(server, "/auth")?, &body).await?;
            if let Some(mut renewed) = answer
                .is_success()
                .then(|| StoredTokens::read(&answer.body, &answer.body["user_id"]))
                .flatten()
            {
                renewed.signed_in = tokens.signed_in;
                return self.store(server, renewed);
            }
        }
        self.sign_in(remote, server).await
    }

    /// Removes a token that the server rejects; the refresh token stays.
    pub(super) fn expire(&self, server: &Url) -> Result<(), CliError> {
        let mut all = self.load()?;
        if let Some(tokens) = all.get_mut(&self.key(server)) {
            tokens.expires_at = 0;
            self.save(&all)?;
        }
        Ok(())
    }

    /// A request without a body that the wallet signs for its route: the first answer is the challenge.
    pub(super) async fn signed_post(
        &self,
        remote: &HttpClient,
        server: &Url,
        path: &str,
    ) -> Result<HttpResponse, CliError> {
        let url = at(server, &format!("{path}?network={}", self.network.name()))?;
        let challenge = remote.post_with(&url, &[], None).await?;
        let info = payment_required(&challenge)?.sign_in()?;
        info.check_origin(server.scheme(), &authority(server))?;
        let proof = self.wallet.sign_in(&info, self.network)?;
        remote.post_with(&url, &[("sign-in-with-x", &proof)], None).await
    }

    /// A token of a new sign-in, whatever is stored.
    pub(super) async fn sign_in(&self, remote: &HttpClient, server: &Url) -> Result<Zeroizing<String>, CliError> {
        terminal::progress(&format!("signing in as {}", self.wallet.address(self.network)));
        let url = at(server, &format!("/auth?network={}", self.network.name()))?;
        let challenge = remote.get(&url, &[]).await?;
        let info = payment_required(&challenge)?.sign_in()?;
        info.check_origin(server.scheme(), &authority(server))?;
        let proof = self.wallet.sign_in(&info, self.network)?;
        let answer = remote.get(&url, &[("sign-in-with-x", &proof)]).await?;
        if !answer.is_success() {
            return Err(answer.to_error());
        }
        let mut tokens = StoredTokens::read(&answer.body["auth"], &answer.body["user_id"])
            .ok_or_else(|| CliError::Connection("the sign-in answer holds no tokens".to_owned()))?;
        tokens.signed_in = true;
        self.store(server, tokens)
    }

    fn key(&self, server: &Url) -> String {
        format!(
            "{}://{} {}",
            server.scheme(),
            authority(server),
            self.wallet.address(self.network)
        )
    }

    fn store(&self, server: &Url, tokens: StoredTokens) -> Result<Zeroizing<String>, CliError> {
        let id_token = Zeroizing::new(tokens.id_token.clone());
        let mut all = self.load()?;
        all.insert(self.key(server), tokens);
        self.save(&all)?;
        Ok(id_token)
    }

    /// A missing or unreadable file means no token: signing in creates a new one.
    fn load(&self) -> Result<BTreeMap<String, StoredTokens>, CliError> {
        match std::fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice(&Zeroizing::new(text)).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(source) => Err(self.failed(source)),
        }
    }

    /// Replaces the whole file, so that a crash leaves the old one or the new one.
    fn save(&self, all: &BTreeMap<String, StoredTokens>) -> Result<(), CliError> {
        let text = Zeroizing::new(serde_json::to_vec(all).map_err(|error| self.failed(error.into()))?);
        private_file::replace(&self.path, &text).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> CliError {
        CliError::Io {
            what: format!("the token file {}", self.path.display()),
            source,
        }
    }
}

impl StoredTokens {
    /// `expires_in` is text in credentials; a number is accepted too.
    fn read(auth: &Value, user_id: &Value) -> Option<Self> {
        let text = |field: &str| auth.get(field)?.as_str().map(str::to_owned);
        let expires_in = auth.get("expires_in")?;
        let expires_in: u64 = expires_in.as_u64().or_else(|| expires_in.as_str()?.parse().ok())?;
        let Timestamp(now_ms) = SystemClock.now();
        Some(Self {
            id_token: text("id_token")?,
            refresh_token: text("refresh_token")?,
            user_id: user_id.as_str().unwrap_or_default().to_owned(),
            expires_at: (now_ms / 1000).saturating_add(expires_in),
            signed_in: false,
        })
    }
}

/// The challenge of a 402; any other response is an error.
pub(super) fn payment_required(answer: &HttpResponse) -> Result<PaymentRequired, CliError> {
    if answer.status != 402 {
        return Err(answer.to_error());
    }
    let missing = WalletError::BadChallenge("there is no PAYMENT-REQUIRED header");
    let header = answer
        .headers
        .get(purser_protocol::payment::header::PAYMENT_REQUIRED)
        .ok_or(missing)?;
    Ok(PaymentRequired::from_header(header.as_bytes())?)
}

/// The MPP offer of a 402.
pub(super) fn mpp_offer(answer: &HttpResponse) -> Result<MppOffer, CliError> {
    if answer.status != 402 {
        return Err(answer.to_error());
    }
    let missing = WalletError::BadChallenge("there is no WWW-Authenticate header");
    let field = answer.headers.get(reqwest::header::WWW_AUTHENTICATE).ok_or(missing)?;
    Ok(MppOffer::from_header(field.to_str().unwrap_or_default())?)
}

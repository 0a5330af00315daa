//! The state that all handlers of the public address share.

use std::sync::Arc;

use axum::body::Body;
use purser_actors::engine::Engine;
use purser_actors::port::{Clock, Entropy};
use purser_storage::Store;
use serde::de::DeserializeOwned;

use super::banking::upload_permits::UploadPermits;
use super::error::ApiError;
use super::json;
use super::login_page::LoginPage;
use super::page_address::PageAddress;
use super::rate_limit::RateLimiter;
use super::signup::SignupRateLimiter;
use super::signup::waiters::SignupWaiters;
use super::token_authenticator::TokenAuthenticator;
use crate::agent_wallet::offer_selection::OwnAddresses;
use crate::agent_wallet::paid_http_client::AgentWalletClient;
use crate::agent_wallet::signer::SealedWalletSigner;
use crate::checkout::Checkout;
use crate::config::Config;
use crate::identity::api_key::{ApiKeyCodec, SignupCodec};
use crate::identity::challenge::SignInChallenges;
use crate::identity::credentials::CredentialIssuer;
use crate::identity::login::SessionCookies;
use crate::identity::passkey::site::PasskeySite;
use crate::identity::proof::ProofVerifier;
use crate::page::PageFrame;
use crate::provider::Providers;
use crate::provider::connect::ProviderCallbackKeys;
use crate::stream::Hub;
use crate::vault::{CvvVault, DocumentStore, Vault};
use crate::webhooks::HttpWebhookSender;

pub struct App {
    pub config: Arc<Config>,
    /// Scheme, host and port under which clients reach the service.
    pub public_url: String,
    pub engine: Engine,
    pub store: Arc<dyn Store>,
    pub hub: Arc<Hub>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
    pub providers: Providers,
    pub checkout: Arc<Checkout>,

    pub vault: Arc<Vault>,
    /// Decrypts CVVs entered by operators.
    pub cvvs: CvvVault,
    /// Files that customers uploaded for the bank.
    pub documents: DocumentStore,
    /// Limits the uploads in progress.
    pub uploads: Arc<UploadPermits>,

    /// Origins of the pages.
    pub pages: PageAddress,
    pub credentials: Arc<CredentialIssuer>,
    pub cookies: SessionCookies,
    pub authenticator: Arc<TokenAuthenticator>,
    /// Passkeys of account owners.
    pub passkeys: PasskeySite,
    /// Creates the 402 of a sign-in.
    pub challenges: SignInChallenges,
    pub verifier: ProofVerifier,
    /// Creates the 402 of a recovery.
    pub recovery_challenges: SignInChallenges,
    pub recovery_verifier: ProofVerifier,
    pub api_keys: ApiKeyCodec,
    pub signups: SignupCodec,
    /// Signups per address.
    pub signup_limiter: SignupRateLimiter,
    /// Polls that wait for an approval.
    pub signup_waiters: Arc<SignupWaiters>,
    pub login_page: LoginPage,
    /// Frame of the pages without a script.
    pub frame: PageFrame,
    pub callback_keys: ProviderCallbackKeys,

    /// Creates managed wallets, signs for them and reads their balances.
    pub wallets: Arc<SealedWalletSigner>,
    /// Makes the calls that managed wallets pay for.
    pub paid_http_client: Arc<AgentWalletClient>,
    /// Limits the payments of a managed wallet per window.
    pub wallet_rate_limiter: RateLimiter,
    /// Addresses of the service. Transfers to them and payments to them by other servers are rejected.
    pub own_addresses: OwnAddresses,
    pub webhook_sender: Arc<HttpWebhookSender>,
}

impl App {
    /// Reads a JSON body within the server's limits.
    ///
    /// # Errors
    /// As [`json::read`].
    pub async fn body<T: DeserializeOwned>(&self, body: Body) -> Result<T, ApiError> {
        json::read(body, self.config.server.max_body_bytes).await
    }
}

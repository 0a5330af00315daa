//! Sets up the checkout: payees, prices, and the refresh of exchange rates.

use std::sync::Arc;
use std::time::Duration;

use purser_actors::id::{Network, Wallet};

use super::ServiceError;
use super::dependencies::PerSlotBlockhash;
use super::routes::AppState;
use crate::checkout::{ChallengeCache, Checkout, ResponseWriter, SolanaOffer};
use crate::config::{Config, SettlementKind, SignatureRecovery};
use crate::http::rate_limit::RateLimiter;
use crate::identity::credentials::CredentialIssuer;
use crate::identity::payout_form_link::PayoutFormLinks;
use crate::payment::BasePayee;
use crate::payment::evm;
use crate::payment::mpp::Mpp;
use crate::prices::{PriceBook, QuoteLifetimes};
use crate::settlement::chain::ChainParts;

pub(super) struct Payees {
    pub(super) base: Arc<BasePayee>,
    pub(super) solana: SolanaOffer,
}

impl Payees {
    /// The addresses of the settings.
    ///
    /// # Errors
    /// When one is not an address of its network.
    pub(super) fn of(config: &Config, chains: &ChainParts) -> Result<Self, ServiceError> {
        let pay_to = &config.payment.pay_to;
        let wrong = |key: &'static str| ServiceError::Component(key, "not an address of that network".into());
        let Some(Wallet::Evm(base)) = pay_to.wallet(Network::Base) else {
            return Err(wrong("payment.pay_to.base"));
        };
        let Some(Wallet::Solana(solana)) = pay_to.wallet(Network::Solana) else {
            return Err(wrong("payment.pay_to.solana"));
        };
        let factories = match config.settlement.kind {
            SettlementKind::Sandbox => Vec::new(),
            SettlementKind::Chains => {
                let listed = config.chains.base.erc6492_factories.iter();
                listed.filter_map(|text| evm::parse_address(text)).collect()
            }
        };
        let solana = SolanaOffer::new(chains.names.solana, solana, chains.fee_payers.clone());
        let solana = solana.ok_or_else(|| wrong("payment.pay_to.solana"))?;
        Ok(Self {
            base: Arc::new(BasePayee::on(&chains.names.base, base).with_factories(factories)),
            solana,
        })
    }
}

/// Inputs for building responses.
pub(super) struct CheckoutParts {
    pub(super) credentials: Arc<CredentialIssuer>,
    pub(super) mpp: Arc<Mpp>,
    pub(super) form_links: PayoutFormLinks,
}

/// Opens the price list and everything else that a paid call needs.
///
/// # Errors
/// When the store or the source of exchange rates fails.
pub(super) async fn open(
    state: &AppState,
    payees: Payees,
    limiter: Arc<RateLimiter>,
    CheckoutParts {
        credentials,
        mpp,
        form_links: forms,
    }: CheckoutParts,
) -> Result<Arc<Checkout>, ServiceError> {
    let config = &state.config;
    let seconds = config.payment.quote_ttl_seconds;
    let now = state.deps.clock.now();
    let table = state.deps.providers.rates.current().await;
    let table = table.map_err(|e| ServiceError::Component("the exchange rates", e.to_string()))?;
    let lives = QuoteLifetimes {
        quote_ms: seconds * 1000,
        exchange_ms: config.rates.max_age_seconds.saturating_mul(1000),
    };
    let prices = PriceBook::open(state.store.clone(), &config.products, &table, lives, now);
    let prices = prices
        .await
        .map_err(|e| ServiceError::Component("the price list", e.to_string()))?;
    let prices = Arc::new(prices);
    refresh(state, &prices);
    Ok(Arc::new(Checkout {
        engine: state.engine.clone(),
        clock: state.deps.clock.clone(),
        wallet_clock: state.deps.wall_clock.clone(),
        clock_adjustable: state.deps.sandbox_clock.is_some() && !config.providers.configured(),
        base: payees.base,
        solana: payees.solana,
        contract_wallets: state.deps.chains.contract_wallets.clone(),
        mpp,
        challenges: ChallengeCache::default(),
        blockhashes: Arc::new(PerSlotBlockhash::new(state.deps.chains.blockhashes.clone())),
        prices,
        limiter,
        calls: Arc::default(),
        response_writer: ResponseWriter {
            credentials: credentials.clone(),
            form_links: forms,
            public_url: state.public_url.clone(),
            frame: super::routes::frame(state),
        },
        credentials,
        recovery: match config.payment.signature_recovery {
            SignatureRecovery::Secp256k1 => evm::SignatureRecovery::Libsecp256k1,
            SignatureRecovery::K256 => evm::SignatureRecovery::K256,
        },
        public_url: state.public_url.clone(),
        max_timeout_seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
        response_timeout: Duration::from_millis(config.engine.response_timeout_ms),
    }))
}

/// Refreshes exchange rates while the checkout exists. While the source does not respond, the previous rates stay in
/// force until they are too old. A quote names the table it was made from.
fn refresh(state: &AppState, prices: &Arc<PriceBook>) {
    let (prices, rates, clock) = (
        Arc::downgrade(prices),
        state.deps.providers.rates.clone(),
        state.deps.clock.clone(),
    );
    let every = Duration::from_secs(state.config.rates.refresh_interval_seconds.max(1));
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let Some(prices) = prices.upgrade() else { return };
            let refreshed = match rates.current().await {
                Ok(table) => prices.exchange(&table, clock.now()).await.map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(error) = refreshed {
                tracing::warn!(error, "exchange rates could not be refreshed");
            }
        }
    });
}

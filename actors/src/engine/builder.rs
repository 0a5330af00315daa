//! What an engine is built from: storage, time, chance, everything outside, and its limits.

use std::sync::Arc;

use purser_storage::Store;

use super::webhooks::WebhookSettings;
use super::{LostHistory, PayoutSettings, ReconcilerDeps, RestoreWindow};
use crate::approval;
use crate::breaker::BreakerSettings;
use crate::kernel::outbox::RetryPolicy;
use crate::kernel::registry::ActivationLimits;
use crate::port::banking::Bank;
use crate::port::payouts::PayoutRails;
use crate::port::{
    Bridge, CardBalances, CardIssuer, Clock, Entropy, GiftCardProvider, IdentityCheck, IssuerAccounts, KeyShredder,
    PaidHttpClient, ReloadableCardProvider, Settlement, WalletSigner, WebhookSender,
};
use crate::product::{DailyCaps, PriceRange, ProductLine};

/// What the engine is built from.
pub struct EngineDeps {
    /// What is durable.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and jitter.
    pub entropy: Arc<dyn Entropy>,
    /// Everything outside.
    pub ports: Ports,
    /// The time of which a restore has lost the history, if one has: what came in then may have bought something.
    pub lost_history: Option<LostHistory>,
    /// When the store was restored from a backup, if it was: until what left since is explained, nothing new leaves.
    pub restored: Option<RestoreWindow>,
    /// Whose lists the books are held against, if they are.
    pub reconciler: Option<ReconcilerDeps>,
    /// Limits and pauses.
    pub settings: EngineSettings,
}

/// Everything outside that the engine asks for work.
#[derive(Clone)]
pub struct Ports {
    /// Moves USDC.
    pub settlement: Arc<dyn Settlement>,
    /// Makes cards.
    pub issuer: Arc<dyn CardIssuer>,
    /// Sells gift cards.
    pub gift_cards: Arc<dyn GiftCardProvider>,
    /// Destroys the keys of CVVs.
    pub shredder: Arc<dyn KeyShredder>,
    /// Knows who holders are.
    pub identity_check: Arc<dyn IdentityCheck>,
    /// Keeps holders' own accounts at the card issuer.
    pub issuer_accounts: Arc<dyn IssuerAccounts>,
    /// Pays out.
    pub payout_rails: Arc<dyn PayoutRails>,
    /// Keeps the balances of those accounts.
    pub card_balances: Arc<dyn CardBalances>,
    /// Keeps reloadable cards, and takes from those balances.
    pub reloadable_cards: Arc<dyn ReloadableCardProvider>,
    /// Carries USDC from Solana to Base.
    pub bridge: Arc<dyn Bridge>,
    /// Signs with the keys of managed wallets.
    pub wallet_signer: Arc<dyn WalletSigner>,
    /// Makes the calls that managed wallets pay for.
    pub paid_http: Arc<dyn PaidHttpClient>,
    /// Keeps holders' accounts.
    pub bank: Arc<dyn Bank>,
    /// Posts events to endpoints.
    pub webhooks: Arc<dyn WebhookSender>,
}

/// The engine's limits and pauses.
#[derive(Clone, Copy, Debug)]
pub struct EngineSettings {
    /// Of every family.
    pub limits: ActivationLimits,
    /// Of every delivery.
    pub retry: RetryPolicy,
    /// Paid calls in flight, at most.
    pub max_in_flight: usize,
    /// Of one payer.
    pub max_in_flight_per_payer: usize,
    /// Daily caps of one account.
    pub caps: DailyCaps,
    /// What international orders cost: after a restore, a transfer of such an amount may have paid for a card that was made by hand.
    pub intl_prices: PriceRange,
    /// How long the chain may take to answer a submission before its outcome counts as unknown, in milliseconds.
    pub settle_timeout_ms: u64,
    /// How long a call that a managed wallet pays for may take, in milliseconds.
    pub paid_call_timeout_ms: u64,
    /// Tries to prepare a payment before it is released.
    pub prepare_attempts: u32,
    /// Pause between two readings of the chain for one payment, in milliseconds.
    pub watch_every_ms: u64,
    /// How long the issuer may take to answer before its answer counts as lost, in milliseconds.
    pub issuer_timeout_ms: u64,
    /// How payouts go.
    pub payouts: PayoutSettings,
    /// How events are posted.
    pub webhooks: WebhookSettings,
    /// How long the issuer may take to credit what was delivered to it before somebody must look, in milliseconds.
    pub card_credit_timeout_ms: u64,
    /// What an operator may give alone.
    pub approvals: approval::ApprovalLimits,
    /// When a line whose provider is down is closed, and how it is tried.
    pub breaker: BreakerSettings,
    /// Lines that are not sold, in the order of [`Line::ALL`]: what was sold of them before is delivered.
    pub not_offered: [bool; ProductLine::ALL.len()],
    /// Work that fails and is not done after this is late, and an operator sees it; in milliseconds, 0 for never.
    pub late_after_ms: u64,
    /// How often idle entities are looked for, in milliseconds.
    pub sweep_every_ms: u64,
    /// How often timers that are due are looked for, in milliseconds.
    pub timers_every_ms: u64,
}

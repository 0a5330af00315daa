//! Sandbox control API: typed requests and responses for the state and controls under `/sandbox/*`. The HTTP layer has
//! the routes and calls this module.

pub mod catalogs;
mod messages;
pub mod payouts;

use std::sync::Arc;

use purser_actors::id::{Network, Wallet};
use purser_actors::money::Usdc;

pub use self::messages::*;
use crate::sandbox::SandboxIssuer;
use crate::sandbox::bridge::faults as bridge_fault;
use crate::sandbox::card_balances::NEVER_CREDITED;
use crate::sandbox::issuer_faults as issuer_fault;
use purser_sandbox::chains::SandboxSettlement;
use purser_sandbox::chains::faults::{self as chain_fault, ChainFault, FaultRule};
use purser_sandbox::faults::{Fault, FaultRule as ProviderFaultRule, Faults, fault_count};
use purser_sandbox::keys;
use purser_sandbox::store::SandboxStoreError;

/// Maximum of a requested delay, in milliseconds.
const MAX_DELAY_MS: u64 = 600_000;
/// Most transfers on a page.
const MAX_PAGE_SIZE: usize = 1_000;
/// A reason is a short code of the contract, not free text.
const MAX_REASON_LEN: usize = 100;
/// Maximum amount of one faucet call in atomic USDC: one billion USDC.
const MAX_FAUCET_AMOUNT: u64 = 1_000_000_000_000_000;

/// Why a control request failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// A field of the request is invalid: status 400.
    #[error("{param}: {message}")]
    Invalid { param: &'static str, message: String },
    /// The sandbox's store has stopped: status 503.
    #[error(transparent)]
    Stopped(#[from] SandboxStoreError),
}

fn invalid(param: &'static str, message: impl Into<String>) -> ControlError {
    ControlError::Invalid {
        param,
        message: message.into(),
    }
}

pub struct SandboxControl {
    settlement: Arc<SandboxSettlement>,
    issuer: Arc<SandboxIssuer>,
}

impl SandboxControl {
    /// Controls the running chains and the card issuer.
    pub const fn new(settlement: Arc<SandboxSettlement>, issuer: Arc<SandboxIssuer>) -> Self {
        Self { settlement, issuer }
    }

    /// Returns the state of the sandbox.
    ///
    /// # Errors
    /// [`ControlError::Stopped`].
    pub async fn state(&self) -> Result<SandboxView, ControlError> {
        let mut chains = Vec::new();
        for network in Network::ALL {
            let chain = self.settlement.state(network).await?;
            let faults = chain.rules.iter().map(|rule| PendingFault {
                fault: rule.fault.name(),
                wallet: rule.scope.map(|w| w.address()),
                remaining: rule.remaining,
            });
            chains.push(SandboxChainView {
                network: network.name(),
                treasury: chain.treasury.address(),
                treasury_atomic: chain.treasury_balance.atomic(),
                minted_atomic: chain.minted.atomic(),
                wallets: chain.wallets,
                transfers: chain.transfers,
                held: chain.held,
                faults: faults.collect(),
                faults_injected: chain.faults_injected,
            });
        }
        let issuer = self.issuer.state().await?;
        let issuer = SandboxIssuerView {
            cards: issuer.cards,
            declined: issuer.declined,
            loaded_cents: issuer.loaded.get(),
            faults: pending_faults(&self.issuer.faults.waiting()),
            faults_injected: self.issuer.faults.injected(),
        };
        Ok(SandboxView {
            sandbox: true,
            chains,
            issuer,
            solana_fee_payer: Wallet::Solana(keys::fee_payer()).address(),
        })
    }

    /// A wallet's balance.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if the address is invalid.
    pub async fn balance(&self, request: &BalanceRequest) -> Result<BalanceResponse, ControlError> {
        let wallet = wallet(&request.wallet)?;
        Ok(balance_of(wallet, self.settlement.balance(&wallet).await?))
    }

    /// A page of a chain's transfers.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] for a limit outside 1 to 1,000.
    pub async fn transfers(&self, request: &TransfersRequest) -> Result<TransferList, ControlError> {
        let network = request.network.unwrap_or(NetworkParam::Base).into();
        let limit = request.limit.unwrap_or(100);
        if !(1..=MAX_PAGE_SIZE).contains(&limit) {
            return Err(invalid("limit", format!("1 to {MAX_PAGE_SIZE}")));
        }
        let mut transfers = self
            .settlement
            .transfers(network, request.after.unwrap_or(0), limit + 1)
            .await?;
        let has_more = transfers.len() > limit;
        transfers.truncate(limit);
        Ok(TransferList { transfers, has_more })
    }

    /// Injects a chain fault and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid or does not belong to the fault; nothing changes then.
    pub async fn set_chain_fault(&self, request: &ChainFaultRequest) -> Result<SandboxView, ControlError> {
        let wallet = request.wallet.as_deref().map(wallet).transpose()?;
        let networks = match (request.network.map(Network::from), wallet) {
            (Some(network), Some(wallet)) if wallet.network() != network => {
                return Err(invalid("wallet", "not an address of this network"));
            }
            (_, Some(wallet)) => vec![wallet.network()],
            (Some(network), None) => vec![network],
            (None, None) => Network::ALL.to_vec(),
        };
        let fault = chain_fault_of(request)?;
        let remaining = fault_count(request.times);
        for network in &networks {
            if fault.is_some() && self.settlement.has_too_many_faults(*network) {
                return Err(too_many_faults());
            }
        }
        for network in networks {
            match (&fault, request.fault) {
                (Some(fault), _) => {
                    self.settlement.add_fault(
                        network,
                        FaultRule {
                            scope: wallet,
                            fault: fault.clone(),
                            remaining,
                        },
                    );
                }
                (None, ChainFaultParam::Clear) => self.settlement.clear_faults(network),
                (None, ChainFaultParam::Together) => self.settlement.set_shared_transaction(network, true),
                (None, name) => self.settlement.hold(network, name == ChainFaultParam::Hold),
            }
        }
        self.state().await
    }

    /// Injects an issuer fault and returns the new state.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] if a field is invalid; nothing changes then.
    pub async fn set_issuer_fault(&self, request: &IssuerFaultRequest) -> Result<SandboxView, ControlError> {
        let ms = delay(request.delay_ms)?;
        let fault = request.fault.fault(ms);
        if request.delay_ms.is_some() && request.fault != ProviderFaultParam::Slow {
            return Err(invalid("delay_ms", "only for slow"));
        }
        set_fault(&self.issuer.faults, fault, request.times)?;
        self.state().await
    }

    /// Sends a wallet test USDC, newly minted or from another wallet.
    ///
    /// # Errors
    /// [`ControlError::Invalid`] for an invalid address or amount, and for more than the other wallet has.
    pub async fn faucet(&self, request: &FaucetRequest) -> Result<BalanceResponse, ControlError> {
        let wallet = wallet(&request.wallet)?;
        let amount = purser_actors::money::Cents::parse(&request.amount)
            .and_then(Usdc::from_cents)
            .map_err(|e| invalid("amount", e.to_string()))?;
        if amount == Usdc::ZERO || amount.atomic() > MAX_FAUCET_AMOUNT {
            return Err(invalid("amount", "more than 0, at most a billion"));
        }
        let given = match &request.from {
            Some(from) => {
                let from = from
                    .parse::<Wallet>()
                    .map_err(|_| invalid("from", "not the exact address of a wallet"))?;
                if from.network() != wallet.network() {
                    return Err(invalid("from", "not an address of this network"));
                }
                self.settlement.transfer_plain((from, wallet), amount).await?
            }
            None => self.settlement.fund(wallet, amount).await?,
        };
        match given {
            Ok(balance) => Ok(balance_of(wallet, balance)),
            Err(decline) => Err(invalid("amount", decline.message.as_str())),
        }
    }

    pub fn magic_values(&self) -> Vec<MagicValue> {
        let cards = issuer_fault::magic_amounts();
        let cards = cards
            .iter()
            .map(|(amount, _, effect)| ("card", format!("{:.2}", amount.decimal()), *effect));
        let payments = chain_fault::magic_amounts();
        let payments = payments
            .iter()
            .map(|(amount, _, effect)| ("payment", format!("{:.2}", amount.decimal()), *effect));
        let bridge_amounts = bridge_fault::magic_amounts();
        let bridge_amounts = bridge_amounts
            .iter()
            .map(|(amount, _, _, effect)| ("top_up", format!("{:.2}", amount.decimal()), *effect));
        let never = format!("{:.2}", NEVER_CREDITED.decimal());
        let never = [(
            "top_up",
            never,
            "delivered, and the card issuer never credits it: dead-lettered job with that reason",
        )];
        cards
            .chain(payments)
            .chain(bridge_amounts)
            .chain(never)
            .map(|(applies_to, amount, effect)| MagicValue {
                applies_to,
                amount,
                effect,
            })
            .collect()
    }
}

fn wallet(text: &str) -> Result<Wallet, ControlError> {
    // Base58 decoding time grows with the square of the length.
    if text.len() > 64 {
        return Err(invalid("wallet", "not an address"));
    }
    text.parse()
        .map_err(|e: purser_actors::id::ParseIdError| invalid("wallet", e.to_string()))
}

fn balance_of(wallet: Wallet, balance: Usdc) -> BalanceResponse {
    BalanceResponse {
        wallet: wallet.address(),
        network: wallet.network().name(),
        usdc: balance.to_string(),
        atomic: balance.atomic(),
    }
}

fn too_many_faults() -> ControlError {
    invalid("fault", "too many faults are waiting; clear them first")
}

/// Adds a provider's fault as often as requested; clears all for `None`.
fn set_fault(faults: &Faults, fault: Option<Fault>, times: Option<u32>) -> Result<(), ControlError> {
    match faults.set(None, fault, times) {
        true => Ok(()),
        false => Err(too_many_faults()),
    }
}

fn pending_faults(rules: &[ProviderFaultRule<()>]) -> Vec<PendingFault> {
    let shown = rules.iter().map(|rule| PendingFault {
        fault: rule.fault.name(),
        wallet: None,
        remaining: rule.remaining,
    });
    shown.collect()
}

fn delay(ms: Option<u64>) -> Result<u64, ControlError> {
    let ms = ms.unwrap_or(3_000);
    if ms <= MAX_DELAY_MS {
        Ok(ms)
    } else {
        Err(invalid("delay_ms", format!("at most {MAX_DELAY_MS}")))
    }
}

/// `None` for an action that is not a fault.
fn chain_fault_of(request: &ChainFaultRequest) -> Result<Option<ChainFault>, ControlError> {
    use ChainFaultParam::{
        Clear, Decline, DropFinal, FailThenLand, FrontRun, Hold, Insufficient, LoseResponse, Reorg, Resume, Slow,
        Together, Unreachable,
    };
    let ms = delay(request.delay_ms)?;
    if request.delay_ms.is_some() && !matches!(request.fault, Slow | FailThenLand | Reorg | DropFinal) {
        return Err(invalid(
            "delay_ms",
            "only for slow, fail_then_land, reorg and drop_final",
        ));
    }
    if request.reason.is_some() && request.fault != Decline {
        return Err(invalid("reason", "only for decline"));
    }
    let action = matches!(request.fault, Hold | Resume | Together | Clear);
    if action && (request.wallet.is_some() || request.times.is_some()) {
        return Err(invalid(
            "fault",
            "hold, resume, together and clear are for a whole chain",
        ));
    }
    let reason = request.reason.as_deref().unwrap_or("invalid_transaction_state");
    if reason.is_empty()
        || reason.len() > MAX_REASON_LEN
        || !reason
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    {
        return Err(invalid(
            "reason",
            "lower-case letters, digits and underscores, at most 100",
        ));
    }
    Ok(match request.fault {
        Decline => Some(ChainFault::Decline { reason: reason.into() }),
        Insufficient => Some(ChainFault::Insufficient),
        Unreachable => Some(ChainFault::Unreachable),
        Slow => Some(ChainFault::Slow { ms }),
        LoseResponse => Some(ChainFault::LoseResponse),
        FailThenLand => Some(ChainFault::FailThenLand { after_ms: ms }),
        Reorg => Some(ChainFault::Reorg { after_ms: ms }),
        DropFinal => Some(ChainFault::DropFinal { after_ms: ms }),
        FrontRun => Some(ChainFault::FrontRun),
        Hold | Resume | Together | Clear => None,
    })
}

#[cfg(test)]
mod tests;

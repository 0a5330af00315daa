//! A managed wallet as its owner sees it.

use serde::Serialize;

use super::{AgentWallet, MerchantCapsView, RefusedSpendView, State};
use crate::answer::{Address, ExactDecimal, Time, UserId};
use crate::entity::session::AuthMethod;
use crate::entity::spend_approval::sees_request_of;
use crate::kernel::Entity as _;

/// A managed wallet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = AgentWalletResource))]
pub struct AgentWalletView {
    /// Wallet address of the account in lower case.
    pub user_id: UserId,
    /// `active` in every case.
    pub status: State,
    /// Addresses of the wallet.
    pub addresses: AgentWalletAddresses,
    /// Caps of the wallet.
    pub limits: AgentWalletLimits,
    /// Number of entries in the address book.
    pub saved_addresses: u64,
    /// Creation time (RFC 3339).
    pub created_at: Time,
    /// The latest spend that a limit refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_refused_spend: Option<RefusedSpendView>,
}

/// Addresses by chain.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct AgentWalletAddresses {
    /// Address on Base.
    pub base: Address,
    /// Address on Solana.
    pub solana: Address,
}

/// Caps of a managed wallet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema))]
pub struct AgentWalletLimits {
    /// Cap per call in US dollars.
    pub per_call_usd: ExactDecimal,
    /// Cap per day (UTC) in US dollars.
    #[cfg_attr(feature = "documents", schema(required))]
    pub per_day_usd: Option<ExactDecimal>,
    /// Whether a spend over a limit waits for the owner's approval.
    pub approvals: bool,
    /// Caps per merchant and day (UTC), if the owner has set any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merchants: Option<MerchantCapsView>,
}

impl AgentWallet {
    /// The wallet as the holder of these credentials sees it: without a spend that was refused to another agent.
    pub fn seen_by(&self, reader: AuthMethod) -> AgentWalletView {
        let refused = self.last_refusal.as_ref();
        let shown = self.view(&self.owner);
        AgentWalletView {
            last_refused_spend: shown
                .last_refused_spend
                .filter(|_| refused.is_some_and(|spend| sees_request_of(reader, spend.agent.key))),
            ..shown
        }
    }
}

//! A spend that a limit refused. The wallet keeps the latest one, so that its event can show it to the owner.

use serde::Serialize;

use super::{AgentWallet, Event};
use crate::answer::{Address, ExactDecimal, Time};
use crate::entity::spend_approval::{ExceededLimit, ExceededLimitView, SpendAgent, SpendPayee, SpendTerms};
use crate::id::{ApiKeyId, Network, SessionId};
use crate::kernel::Decision;
use crate::port::Timestamp;

/// An agent that repeats a refused spend within this time is not announced again.
const REPEATED_WITHIN_MS: u64 = 60_000;

/// A spend that a limit refused.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct RefusedSpend {
    /// The spend.
    pub terms: SpendTerms,
    /// Limits that it exceeded.
    pub exceeded: Vec<ExceededLimit>,
    /// Agent that asked.
    pub agent: SpendAgent,
    /// Time of the refusal.
    pub at: Timestamp,
}

/// A spend that a limit of the account owner refused.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "documents", derive(utoipa::ToSchema), schema(as = RefusedSpend))]
pub struct RefusedSpendView {
    /// Amount in US dollars.
    pub amount: ExactDecimal,
    /// Network of the payee.
    pub network: Network,
    /// Address of the payee.
    pub pay_to: Address,
    /// `host:port` of a paid call, or `route` for this service.
    #[cfg_attr(feature = "documents", schema(required))]
    pub host: Option<String>,
    /// Limits that the spend exceeded.
    pub limits: Vec<ExceededLimitView>,
    /// API key of the agent; null if the wallet signed in.
    #[cfg_attr(feature = "documents", schema(required))]
    pub api_key_id: Option<ApiKeyId>,
    /// Session of the agent.
    #[cfg_attr(feature = "documents", schema(required))]
    pub session_id: Option<SessionId>,
    /// Time of the refusal (RFC 3339).
    pub at: Time,
}

impl RefusedSpendView {
    /// `None` for what no wallet pays; a managed wallet refuses its own spends only.
    pub(super) fn of(refused: &RefusedSpend) -> Option<Self> {
        let SpendPayee::Wallet(to) = refused.terms.payee else {
            return None;
        };
        Some(Self {
            amount: refused.terms.amount.into(),
            network: to.network(),
            pay_to: to.into(),
            host: refused.terms.act.host().map(str::to_owned),
            limits: refused.exceeded.iter().map(ExceededLimitView::from).collect(),
            api_key_id: refused.agent.key,
            session_id: refused.agent.session,
            at: refused.at.into(),
        })
    }
}

impl AgentWallet {
    pub(super) fn record_refusal(&self, refused: RefusedSpend) -> Decision<Self> {
        let is_repeated = self.last_refusal.as_ref().is_some_and(|last| {
            let same = |spend: &RefusedSpend| (spend.terms.clone(), spend.agent.key);
            same(last) == same(&refused) && refused.at < last.at.plus_ms(REPEATED_WITHIN_MS)
        });
        let done = Decision::answer(());
        match is_repeated {
            true => done,
            false => done.event(Event::SpendRefused(Box::new(refused))),
        }
    }
}

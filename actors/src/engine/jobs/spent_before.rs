//! What an agent wallet spent in a history that a restore lost. It has no wallet payment, but counts against the daily
//! cap.

use super::sent_transfer_match::{SentTransferMatch, exclude_matched};
use super::{JobHandlers, load_failed};
use crate::entity::account::day_of;
use crate::entity::agent_wallet::AgentWallet;
use crate::entity::wallet_payment::WalletPayment;
use crate::id::{Network, WalletPaymentId};
use crate::kernel::AttemptFailure;
use crate::money::Usdc;
use crate::port::{DAY_MS, OutgoingTransfer, Timestamp};

impl JobHandlers {
    /// Transfers out of an agent wallet without a wallet payment, on both chains, on the UTC day of `at`. Only the time
    /// lost by a restore can have any, so the chains are not queried for other days.
    pub(in crate::engine) async fn spent_before(
        &self,
        wallet: &AgentWallet,
        at: Timestamp,
    ) -> Result<Usdc, AttemptFailure> {
        let of_that_day = |moment: Timestamp| day_of(moment) == day_of(at);
        if self.lost_history.is_none_or(|lost| day_of(lost.until) < day_of(at)) {
            return Ok(Usdc::ZERO);
        }
        let midnight = Timestamp(at.0 - at.0 % DAY_MS);
        let mut sent: Vec<OutgoingTransfer> = Vec::new();
        for network in Network::ALL {
            let address = wallet.addresses.on(network);
            let asked = self.ports.settlement.sent_by(&address, midnight);
            let left = self.with_timeout(asked, "sent by").await;
            sent.extend(
                left.map_err(|error| AttemptFailure::from(error).retry_every_ms(self.settings.watch_every_ms))?,
            );
        }
        sent.retain(|one| of_that_day(one.at));
        if !sent.is_empty() {
            let mut spends = Vec::new();
            let may_be_sent = |spend: &WalletPayment| self.outgoing_guard.may_have_been_sent(spend.created_at);
            self.for_each_wallet_payment(&wallet.owner, |_, spend| {
                spends.extend(SentTransferMatch::from_payment_or_order(spend, may_be_sent(spend)))
            })
            .await?;
            exclude_matched(spends, &mut sent);
        }
        Ok(sent.iter().fold(Usdc::ZERO, |sum, one| {
            sum.checked_add(one.amount).unwrap_or(Usdc::from_atomic(u64::MAX))
        }))
    }

    /// Whether the lost history has used up the day's cap, so that this payment exceeds it. Its hold was placed before
    /// that could be seen.
    pub(super) async fn is_beyond_cap(
        &self,
        id: WalletPaymentId,
        spend: &WalletPayment,
    ) -> Result<bool, AttemptFailure> {
        if self.lost_history.is_none_or(|lost| spend.created_at > lost.until) {
            return Ok(false);
        }
        let read = self
            .registries
            .agent_wallets
            .read(&spend.owner)
            .await
            .map_err(load_failed)?;
        let Some((wallet, _)) = read else { return Ok(false) };
        let before = self.spent_before(&wallet, spend.created_at).await?;
        Ok(before > Usdc::ZERO && wallet.exceeds_daily_cap(id, before))
    }
}

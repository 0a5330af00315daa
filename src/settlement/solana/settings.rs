//! Settings of the Solana port.

use purser_actors::money::Usdc;
use purser_chains::rpc::EndpointSettings;
use purser_chains::solana::Pubkey;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::lifecycle::Pacing;
use purser_chains::solana::losses::LossLimits;
use purser_chains::solana::payers::PayerLimits;

/// Settings of [`super::SolanaSettlement`]. Keys and endpoints have no default; [`Self::new`] sets the rest.
#[derive(Debug)]
pub struct SolanaSettings {
    /// The USDC mint of the SPL Token program.
    pub mint: Pubkey,
    /// Owner of the token account that receives payments. Signs withdrawals; pays no fees.
    pub treasury: Keypair,
    /// Keys that co-sign payments and pay their fees. At least one is needed unless [`Self::is_facilitated`].
    pub fee_payers: Vec<Keypair>,
    /// Facilitators may co-sign and send payments: no key of our own is needed then.
    pub is_facilitated: bool,
    /// JSON-RPC endpoints in order of preference. With fewer than two, no payment is ever proven impossible.
    pub endpoints: Vec<EndpointSettings>,
    /// Minimum balance of a fee payer, and maximum priority fee of one payment, in lamports.
    pub payer_limits: PayerLimits,
    /// Limit on the fees lost to failed payments of one wallet.
    pub loss_limits: LossLimits,
    /// Maximum rent for the token account of a withdrawal's recipient, in lamports; 0 creates none. Rent is 2,039,280
    /// today.
    pub account_rent_cap: u64,
    /// Price of a compute unit in withdrawals, in 10^-6 lamports. A withdrawal is limited to 60,000 units.
    pub withdrawal_unit_price: u64,
    /// Depth at which a transfer counts as final, by amount.
    pub finality: FinalityByAmount,
    /// First slot to read on a store without Solana rows. Default: the slot that is final then. Older transfers of the
    /// treasury are not listed.
    pub from_slot: Option<u64>,
    /// Intervals and timeouts.
    pub pace: Pace,
}

impl SolanaSettings {
    /// Settings with the defaults: 0.01 SOL floor, 20,000 lamports of priority fee, no rent, everything final at
    /// `finalized`.
    pub fn new(mint: Pubkey, treasury: Keypair) -> Self {
        Self {
            mint,
            treasury,
            fee_payers: Vec::new(),
            is_facilitated: false,
            endpoints: Vec::new(),
            payer_limits: PayerLimits::default(),
            loss_limits: LossLimits::default(),
            account_rent_cap: 0,
            withdrawal_unit_price: 10_000,
            finality: FinalityByAmount::default(),
            from_slot: None,
            pace: Pace::default(),
        }
    }
}

/// Depth at which a transfer counts as final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Two thirds of the stake have voted for the block.
    Confirmed,
    /// Confirmed, and this many slots have passed since.
    Slots(u64),
    /// Irreversible by the chain's rules: 31 confirmed blocks on top, about 13 s.
    Finalized,
}

/// Depths by rising amounts: the first step that covers the amount applies; above all steps `finalized`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalityByAmount(pub Vec<(Usdc, Depth)>);

impl FinalityByAmount {
    /// The depth required for an amount.
    pub fn depth_for(&self, amount: Usdc) -> Depth {
        let step = self.0.iter().find(|(up_to, _)| amount <= *up_to);
        step.map_or(Depth::Finalized, |(_, depth)| *depth)
    }
}

/// Intervals and timeouts of the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Intervals of one transaction in flight: sends, status queries, proofs.
    pub pacing: Pacing,
    /// Interval between checks of due actions, in milliseconds.
    pub tick_ms: u64,
    /// Interval between reads of the treasury's transactions, in milliseconds.
    pub follow_ms: u64,
    /// Interval between reads of a recent blockhash, in milliseconds.
    pub blockhash_ms: u64,
    /// Interval between reads of the fee payers' balances, in milliseconds.
    pub balance_ms: u64,
    /// Age in milliseconds from which a transaction's block is final and listed, if the chain was read since. Covers
    /// the time to finality and the drift of the chain's clock.
    pub settled_after_ms: u64,
    /// No payment is prepared if nothing has become final for this time, in milliseconds.
    pub standstill_ms: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            pacing: Pacing::default(),
            tick_ms: 100,
            follow_ms: 1_000,
            blockhash_ms: 2_000,
            balance_ms: 10_000,
            settled_after_ms: 60_000,
            standstill_ms: 60_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Checks: the first step that covers the amount applies, its upper bound included; above all steps only `finalized`
    // counts.
    #[test]
    fn the_depth_rises_with_the_amount() {
        let usdc = Usdc::from_atomic;
        let steps = vec![(usdc(10), Depth::Confirmed), (usdc(100), Depth::Slots(8))];
        let finality = FinalityByAmount(steps);
        let cases = [
            (0, Depth::Confirmed),
            (10, Depth::Confirmed),
            (11, Depth::Slots(8)),
            (100, Depth::Slots(8)),
        ];
        for (amount, depth) in cases {
            assert_eq!(finality.depth_for(usdc(amount)), depth, "{amount}");
        }
        assert_eq!(finality.depth_for(usdc(101)), Depth::Finalized);
        assert_eq!(FinalityByAmount::default().depth_for(Usdc::ZERO), Depth::Finalized);
    }
}

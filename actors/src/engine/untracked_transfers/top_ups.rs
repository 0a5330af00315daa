//! Outgoing transfers of top-ups: of one that waits, and of one that a restore has lost.

use purser_storage::{Store, StoreError};

use crate::entity::incoming::Transfer;
use crate::entity::payment::{Payment, ResolvedPreconditions};
use crate::entity::top_up::{self, FirstLeg, TopUp};
use crate::id::{Network, Wallet};
use crate::kernel::table;
use crate::money::Usdc;
use crate::port::{AttestedMessage, OutgoingTransfer, SignedBurn, Timestamp};

/// A burn exceeds the amount that arrives by at most 1/100: the bridge's fee.
const MAX_BRIDGE_FEE_FRACTION: u64 = 100;
/// The amount that arrives is below the amount paid by at most 1/10: our fee.
const MAX_FEE_FRACTION: u64 = 10;

/// Whether this amount leaves for a top-up that delivers between `least` and `most`.
fn amount_matches(rail: Network, (least, most): (Usdc, Usdc), left: Usdc) -> bool {
    let most = most.atomic();
    let most = match rail {
        Network::Solana => most.saturating_add(most / MAX_BRIDGE_FEE_FRACTION),
        Network::Base => most,
    };
    (least.atomic()..=most).contains(&left.atomic())
}

/// Whether a top-up over the bridge waits for a burn like this one. The attestation shows the recipient.
pub(super) fn candidate_burn(top_up: &TopUp, transfer: &OutgoingTransfer) -> bool {
    let owed = top_up.charge.provider_amount();
    let waits = matches!(&top_up.status, top_up::Status::Paid(first) if !matches!(first.as_deref(), Some(FirstLeg::Transfer(_))));
    waits
        && top_up.rail == Network::Solana
        && transfer.to.network() == Network::Solana
        && amount_matches(top_up.rail, (owed, owed), transfer.amount)
}

/// An incoming payment that may have paid for a top-up missing from the ledger.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct PossibleTopUpPayment {
    network: Network,
    amount: Usdc,
    at: Timestamp,
    from: Wallet,
    account: Wallet,
    /// Where the account's card balance is loaded, as far as the ledger knows. The lost history may have linked it.
    linked: Option<Wallet>,
}

impl PossibleTopUpPayment {
    /// For a transfer of this account.
    pub(in crate::engine) async fn from_transfer(
        transfer: &Transfer,
        account: Wallet,
        store: &dyn Store,
    ) -> Result<Self, StoreError> {
        let row = store.read(&table::issuer_linked(&account)).await?;
        let linked = row.and_then(|row| <[u8; 20]>::try_from(&*row.value).ok());
        Ok(Self {
            network: transfer.network,
            amount: transfer.amount,
            at: transfer.at,
            from: transfer.from,
            account,
            linked: linked.map(Wallet::Evm),
        })
    }

    /// For a payment of a top-up that has not been forwarded.
    pub(in crate::engine) const fn from_payment(payment: &Payment) -> Self {
        Self {
            network: payment.claim.authorization.network(),
            amount: payment.price(),
            at: payment.claim.at,
            from: payment.payer(),
            account: payment.account(),
            linked: match payment.claim.resolved {
                ResolvedPreconditions::DepositAddress(address) => Some(Wallet::Evm(address)),
                _ => None,
            },
        }
    }

    /// Whether a burn with this attestation may have been for it.
    pub(super) fn may_reach(&self, attested: &AttestedMessage) -> bool {
        let to = Wallet::Evm(attested.to);
        let paid = self.amount.atomic();
        let least = paid - paid / MAX_FEE_FRACTION;
        // The bridge may charge less than its maximum fee.
        let most = paid.saturating_add(paid / MAX_BRIDGE_FEE_FRACTION);
        attested.is_usdc
            && self.linked.is_none_or(|linked| linked == to)
            && (least..=most).contains(&attested.delivered_amount.atomic())
    }

    /// Whether this may be its outgoing transfer. A burn is matched by its amount alone; on Base the recipient must be
    /// the linked address.
    pub(in crate::engine) fn may_match(&self, transfer: &OutgoingTransfer) -> bool {
        let least = self.amount.atomic() - self.amount.atomic() / MAX_FEE_FRACTION;
        let loads = match (self.network, self.linked) {
            (Network::Base, Some(linked)) => transfer.to == linked,
            _ => transfer.to != self.account && transfer.to != self.from,
        };
        transfer.at >= self.at
            && transfer.to.network() == self.network
            && loads
            && amount_matches(self.network, (Usdc::from_atomic(least), self.amount), transfer.amount)
    }
}

/// The burn as far as the chain shows it.
pub(super) fn burn_from_transfer(transfer: &OutgoingTransfer) -> SignedBurn {
    SignedBurn {
        bytes: Vec::new(),
        transaction: transfer.transaction.clone(),
        event_key: [0; 32],
        burned: transfer.amount,
    }
}

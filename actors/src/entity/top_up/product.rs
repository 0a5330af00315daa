//! A top-up as a product.

use super::{Job, Status, TopUp};
use crate::currency::Currency;
use crate::id::{Network, TopUpId};
use crate::kernel::{Context, Decision, Entity, InvalidTransition};
use crate::ledger::Charge;
use crate::money::{Cents, Usdc};
use crate::product::{
    ListedOrder, Money, Precondition, Product, ProductLine, PurchaseTerms, Sale, Usable, encode_fingerprint,
};
use crate::reconciliation::ReconciliationSource;

/// What a purchase fixes about the top-up.
#[derive(Clone, Copy, Debug)]
pub struct TopUpTerms {
    /// Amount delivered.
    pub amount: Cents,
    /// Network of the payment.
    pub rail: Network,
    /// Deposit address on Base.
    pub address: [u8; 20],
}

/// Purchase of a top-up: its amount.
#[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
pub struct CardBalancePurchase {
    /// Amount delivered.
    pub amount: Cents,
}

/// Deposit address of the payer's linked account at the card issuer, on Base.
#[derive(Debug)]
pub struct DepositAddress(pub [u8; 20]);

impl PurchaseTerms for CardBalancePurchase {
    type Product = TopUp;
    type Resolved = DepositAddress;

    const LINE: ProductLine = ProductLine::CardBalance;
    const STORES_QUOTE: bool = false;

    fn amount(&self) -> (Cents, Currency) {
        (self.amount, Currency::USD)
    }

    fn fingerprint_bytes(&self) -> Vec<u8> {
        let Self { amount } = self;
        encode_fingerprint((6_u32, amount))
    }

    fn preconditions(&self) -> Vec<Precondition> {
        vec![Precondition::IssuerLinked]
    }

    fn order(&self, sale: &Sale, DepositAddress(address): DepositAddress, _: &Context) -> TopUpTerms {
        TopUpTerms {
            amount: self.amount,
            rail: sale.network,
            address,
        }
    }
}

impl Product for TopUp {
    const ID_FIELD: &'static str = "top_up_id";
    const FIELD: &'static str = "top_up";
    /// Its transfers are on chain, and on no provider's list.
    const LISTS: &'static [ReconciliationSource] = &[];
    const WAITS_FOR_FINALITY: bool = true;

    type Order = TopUpTerms;

    fn sell<D: Entity>(
        decision: Decision<D>,
        sale: &Sale,
        order: TopUpTerms,
        context: &Context,
    ) -> Result<Decision<D>, InvalidTransition> {
        let (id, owner) = (TopUpId(sale.number), sale.owner);
        let order = (order.amount, order.rail, order.address);
        Ok(decision
            .open(Self::open(id, owner, sale.charge, order, context)?)
            .put(Self::list_key(&owner, context.now, id), Vec::new())
            .enqueue(Job::SendTopUp(id), context))
    }

    fn return_instructions(_: &TopUpId) -> String {
        "A balance at the card issuer cannot be returned.".to_owned()
    }

    fn charge(&self) -> &Charge {
        &self.charge
    }

    fn money(&self) -> Money {
        match self.status {
            Status::Paid(_) | Status::Bridging(_) => Money::InFlight,
            Status::Delivered | Status::Credited => Money::Delivered {
                credited: Usdc::ZERO,
                refundable: self.charge.charged,
                usable: Usable::All,
            },
            Status::Failed { .. } => Money::Credited,
        }
    }

    fn listed(&self, _: &TopUpId) -> Vec<ListedOrder> {
        Vec::new()
    }
}

//! What a provider made of a payment that a restore lost: the payment, its product and what they cost come into being as they
//! would have, but that nothing is ordered anew. The order goes to the provider under the name that it has there already.

use super::{Event, Incoming, Made};
use crate::card::Card;
use crate::gift_card::{self, GiftCard};
use crate::id::{CardId, EffectId, SessionId, Wallet};
use crate::kernel::effect::{Share, Work};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, Kind, OutOfOrder, table};
use crate::ledger::{Place, Transaction};
use crate::money::Cents;
use crate::payment::{Claim, Found, NewSession, Payment};
use crate::port::{Authorization, EvmAuthorization, SolanaTransfer};
use crate::product::{Currency, Product, Purchase};
use crate::quote::{Exchange, Quoted};

/// Decimal places of an exchange rate that is made up of what was paid.
const RATE_PLACES: u32 = 12;

impl Incoming {
    /// The payment, fulfilled, with its product; whose order is asked for again.
    pub(super) fn adopt(
        &self,
        (owner, made): (Wallet, Made),
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, OutOfOrder> {
        let id = self.transfer.payment;
        let claim = self.claim(owner, &made, context)?;
        let line = claim.purchase.line();
        let card = CardId(id.product());
        let product = match made {
            Made::Card { .. } => Product::Card(card),
            Made::GiftCard { .. } => Product::GiftCard(card),
        };
        let (opening, payment) = Payment::adopted(id, claim, (&self.transfer.transaction, product), context)?;
        let charge = payment.charge(id);
        let treasury = Place::Treasury(self.transfer.network);
        let received = Transaction::new(context.now, id).book(treasury, Place::Suspense, self.transfer.amount);
        let sold = charge.sold(received, line.provider());
        let decision = decision
            .requires_absent(table::entity(Kind::Payment, &id.key()))
            .requires_absent(table::deposit(id))
            .event(Event::Adopted(product, context.now))
            .open(opening)
            .post(&sold, context);
        let key = EffectId(card.0);
        Ok(match made {
            Made::Card { amount } => decision
                .open(Card::order(card, owner, charge, amount, context)?)
                .owned(&owner, Kind::Card, card.0, context)
                .then_as(key, Work::IssueCard(card), context),
            Made::GiftCard {
                amount,
                currency,
                product,
                country,
                fee_rate,
            } => {
                let order = gift_card::Order {
                    product,
                    amount,
                    currency,
                    country,
                    fee_rate,
                    quoted: Box::new(self.quoted(amount, currency)),
                };
                decision
                    .open(GiftCard::order(card, owner, charge, order, context)?)
                    .owned(&owner, Kind::GiftCard, card.0, context)
                    .then_as(key, Work::OrderGiftCard(card), context)
            }
        })
    }

    /// What its payer asked for, as far as the chain and the provider show it.
    fn claim(&self, account: Wallet, made: &Made, context: &Context) -> Result<Claim, OutOfOrder> {
        let (purchase, worth, found) = self.bought(made)?;
        let budget = purchase.line();
        Ok(Claim {
            account,
            authorization: self.authorization(),
            purchase,
            worth,
            found,
            request: Claim::UNKNOWN,
            session: NewSession {
                id: SessionId(self.transfer.payment.product()),
                first: [0; 32],
                life_ms: 0,
            },
            share: Share {
                day: 0,
                budget,
                cents: Cents::ZERO,
            },
            at: context.now,
        })
    }

    /// The purchase, and what it was worth in US dollars. Of another currency nobody knows the rate any more: all that was paid
    /// is taken for its worth, so that the provider's own bill shows what was our fee.
    fn bought(&self, made: &Made) -> Result<(Purchase, Cents, Found), OutOfOrder> {
        let paid = self.transfer.amount.whole_cents();
        Ok(match made {
            Made::Card { amount } => (Purchase::UsaCard { amount: *amount }, *amount, Found::Nothing),
            Made::GiftCard {
                amount,
                currency,
                product,
                country,
                fee_rate,
            } => {
                let purchase = Purchase::GiftCard {
                    amount: *amount,
                    currency: *currency,
                    product: product.clone(),
                    country: *country,
                };
                let worth = if *currency == Currency::USD { *amount } else { paid };
                let found = Found::Offer {
                    fee_rate: fee_rate.clone(),
                    quoted: Box::new(self.quoted(*amount, *currency)),
                };
                (purchase, worth, found)
            }
        })
    }

    /// Facts that make the price which was paid: what was paid is all that is known of them.
    fn quoted(&self, amount: Cents, currency: Currency) -> Quoted {
        let paid = self.transfer.amount.whole_cents().get();
        let decimal = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
        if currency == Currency::USD {
            return Quoted {
                fee_rate: "0".to_owned(),
                min_fee: decimal(paid.saturating_sub(amount.get())),
                exchange: None,
            };
        }
        // Rounded down: a price is rounded up to the cent, which makes good for it.
        let scale = 10_u128.pow(RATE_PLACES);
        let rate = u128::from(paid) * scale / u128::from(amount.get().max(1));
        let places = RATE_PLACES as usize;
        Quoted {
            fee_rate: "0".to_owned(),
            min_fee: "0".to_owned(),
            exchange: Some(Exchange {
                usd_per_unit: format!("{}.{:0places$}", rate / scale, rate % scale),
                source: "restored".to_owned(),
                as_of: self.transfer.at,
            }),
        }
    }

    /// What the chain shows of the authorization that was paid with: enough to look it up by, and signed by nobody.
    const fn authorization(&self) -> Authorization {
        match self.transfer.from {
            Wallet::Evm(from) => Authorization::Evm(EvmAuthorization {
                from,
                to: [0; 20],
                value: self.transfer.amount,
                valid_after: 0,
                valid_before: 0,
                nonce: self.transfer.mark,
                signature: [0; 65],
            }),
            Wallet::Solana(payer) => Authorization::Solana(SolanaTransfer {
                transaction: Vec::new(),
                message_hash: self.transfer.mark,
                payer,
                value: self.transfer.amount,
                blockhash: [0; 32],
            }),
        }
    }
}

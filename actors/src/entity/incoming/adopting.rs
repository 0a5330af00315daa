//! Adopts the product that a provider delivered for a payment that a restore lost. The payment, its product and their
//! postings are created as they would have been, but nothing is ordered again. The job uses the key that the provider
//! already has.

use super::{AdoptableProduct, Event, Incoming};
use crate::currency::Currency;
use crate::entity::account;
use crate::entity::account::CapReservation;
use crate::entity::account::counted_day;
use crate::entity::card::{Card, CardPurchase};
use crate::entity::gift_card::{GiftCard, GiftCardPurchase};
use crate::entity::payment::{Claim, Payment, ResolvedPreconditions, SessionSeed};
use crate::entity::{Purchase, PurchasedProduct};
use crate::id::{CardId, SessionId, Wallet};
use crate::kernel::entity::EntityId as _;
use crate::kernel::{Context, Decision, EntityKind, InvalidTransition, table};
use crate::ledger::{LedgerAccount, LedgerTransaction};
use crate::money::Cents;
use crate::port::Authorization;
use crate::port::EvmAuthorization;
use crate::port::EvmSignature;
use crate::port::GiftCardOrder;
use crate::port::SolanaTransfer;
use crate::product::Product as _;
use crate::product::Sale;
use crate::quote::{ExchangeRate, QuoteFacts};

/// Decimal places of an exchange rate derived from the paid amount.
const RATE_PLACES: u32 = 12;

impl Incoming {
    /// Creates the fulfilled payment with its product, whose order is requested again under its old key.
    pub(super) fn adopt(
        &self,
        (owner, made): (Wallet, AdoptableProduct),
        decision: Decision<Self>,
        context: &Context,
    ) -> Result<Decision<Self>, InvalidTransition> {
        let id = self.transfer.payment;
        let claim = self.claim(owner, &made, context)?;
        let (line, reservation) = (claim.purchase.line(), claim.cap_reservation);
        let card = CardId(id.product_id());
        let product = match made {
            AdoptableProduct::Card { .. } => PurchasedProduct::Card(card),
            AdoptableProduct::GiftCard { .. } => PurchasedProduct::GiftCard(card),
        };
        let (opening, payment) = Payment::adopt(id, claim, (&self.transfer.transaction, product), context)?;
        let charge = payment.charge(id);
        let treasury = LedgerAccount::Treasury(self.transfer.network);
        let received =
            LedgerTransaction::new(context.now, id).post(treasury, LedgerAccount::Suspense, self.transfer.amount);
        let sold = charge.capture(received, line.provider());
        let decision = decision
            .requires_absent(table::entity(EntityKind::Payment, &id.key()))
            .requires_absent(table::taken_in_payment(id))
            .event(Event::Adopted(product, context.now))
            .open(opening)
            .put(
                Payment::list_key(&owner, context.now, id),
                Payment::list_value(self.transfer.amount),
            )
            .enqueue(
                account::Job::CountCapReservation {
                    account: owner,
                    reservation,
                },
                context,
            )
            .enqueue(self.uncount_job(), context)
            .post_ledger(&sold, context);
        let sale = Sale {
            number: card.0,
            owner,
            charge,
            network: self.transfer.network,
        };
        match made {
            AdoptableProduct::Card { amount } => Card::sell(decision, &sale, amount, context),
            AdoptableProduct::GiftCard {
                amount,
                currency,
                product,
                country,
                fee_rate,
            } => {
                let order = GiftCardOrder {
                    product,
                    amount,
                    currency,
                    country,
                    quoted: Box::new(self.quote(amount, currency, &fee_rate).0),
                    fee_rate,
                };
                GiftCard::sell(decision, &sale, order, context)
            }
        }
    }

    /// The claim, as far as the chain and the provider show it.
    fn claim(&self, account: Wallet, made: &AdoptableProduct, context: &Context) -> Result<Claim, InvalidTransition> {
        let (purchase, worth, resolved) = self.purchase(made)?;
        let cap_reservation = CapReservation {
            day: counted_day(self.transfer.at, 0),
            cap_group: purchase.line().cap_group(),
            cents: worth,
        };
        Ok(Claim {
            account,
            authorization: self.authorization(),
            purchase,
            worth,
            resolved,
            request: Claim::UNKNOWN,
            session: SessionSeed {
                id: SessionId(self.transfer.payment.product_id()),
                first: [0; 32],
                life_ms: 0,
                presented_key: None,
            },
            cap_reservation,
            at: context.now,
        })
    }

    /// The purchase and its value in US dollars: the paid amount less the fee.
    fn purchase(&self, made: &AdoptableProduct) -> Result<(Purchase, Cents, ResolvedPreconditions), InvalidTransition> {
        Ok(match made {
            AdoptableProduct::Card { amount } => (
                Purchase::UsaCard(CardPurchase { amount: *amount }),
                *amount,
                ResolvedPreconditions::None,
            ),
            AdoptableProduct::GiftCard {
                amount,
                currency,
                product,
                country,
                fee_rate,
            } => {
                let purchase = Purchase::GiftCard(GiftCardPurchase {
                    amount: *amount,
                    currency: *currency,
                    product: product.clone(),
                    country: *country,
                });
                let (quoted, worth) = self.quote(*amount, *currency, fee_rate);
                let found = ResolvedPreconditions::Offer {
                    fee_rate: fee_rate.clone(),
                    quoted: Box::new(quoted),
                };
                (purchase, worth, found)
            }
        })
    }

    /// Quote facts that give the paid price, and the product's value in US dollars by them. The exchange rate of
    /// another currency is no longer known. It is derived from the paid amount and the order's fee rate, to within a
    /// cent.
    fn quote(&self, amount: Cents, currency: Currency, fee_rate: &str) -> (QuoteFacts, Cents) {
        let paid = self.transfer.amount.whole_cents().get();
        let decimal = |cents: u64| format!("{}.{:02}", cents / 100, cents % 100);
        if currency == Currency::USD {
            let quoted = QuoteFacts {
                fee_rate: "0".to_owned(),
                min_fee: decimal(paid.saturating_sub(amount.get())),
                exchange: None,
            };
            return (quoted, amount);
        }
        let (fee_rate, fee) = match fraction(fee_rate) {
            Some(fee) => (fee_rate, fee),
            None => ("0", 0),
        };
        let (one, least) = (10_u128.pow(RATE_PLACES), u128::from(amount.get().max(1)));
        // Prices are rounded up to the cent: the exact value is at most a cent below the paid amount, and the middle is
        // nearest.
        let exact = u128::from(paid.saturating_mul(2).saturating_sub(1));
        let rate = exact * one / (2 * least) * one / (one + fee);
        let worth = (least * rate).div_ceil(one).min(u128::from(paid));
        let places = RATE_PLACES as usize;
        let quoted = QuoteFacts {
            fee_rate: fee_rate.to_owned(),
            min_fee: "0".to_owned(),
            exchange: Some(ExchangeRate {
                usd_per_unit: format!("{}.{:0places$}", rate / one, rate % one),
                source: "restored".to_owned(),
                as_of: self.transfer.at,
            }),
        };
        (quoted, Cents::new(u64::try_from(worth).unwrap_or(paid)))
    }

    /// The part of the authorization that the chain shows: enough for a lookup, without a signature.
    const fn authorization(&self) -> Authorization {
        match self.transfer.from {
            Wallet::Evm(from) => Authorization::Evm(EvmAuthorization {
                from,
                to: [0; 20],
                value: self.transfer.amount,
                valid_after: 0,
                valid_before: 0,
                nonce: self.transfer.fingerprint,
                signature: EvmSignature::ecdsa([0; 65]),
            }),
            Wallet::Solana(payer) => Authorization::Solana(SolanaTransfer {
                transaction: Vec::new(),
                message_hash: self.transfer.fingerprint,
                payer,
                value: self.transfer.amount,
                blockhash: [0; 32],
                not_before_slot: 0,
            }),
        }
    }
}

/// A fraction below 1 as decimal text, in units of the last of [`RATE_PLACES`] places. `None` for anything else.
fn fraction(text: &str) -> Option<u128> {
    let places = RATE_PLACES as usize;
    let digits = match text {
        "0" => "",
        text => text.strip_prefix("0.")?,
    };
    if digits.len() > places || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    format!("{digits:0<places$}").parse().ok()
}

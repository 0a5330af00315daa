//! The lists of the engine: every entity, every purchase and every product. A row makes an entity kind's registry with
//! its supervisor and statistics, and brings its jobs; or makes a product purchasable.

use crate::currency::Currency;
use crate::kernel::{Context, Decision, Entity, InvalidTransition};
use crate::money::Cents;
use crate::payment::ResolvedPreconditions;
use crate::product::{Precondition, Product, ProductLine, ProductType, PurchaseTerms, Sale};

/// Passes the rows to the macro that is named: a registry's name, the entity, and the type of its jobs if it has some.
macro_rules! entities {
    ($rows:ident) => {
        $rows! {
            accounts: crate::account::Account => crate::account::Job,
            payments: crate::payment::Payment => crate::payment::Job,
            cards: crate::card::Card => crate::card::Job,
            sessions: crate::session::Session,
            gift_cards: crate::gift_card::GiftCard => crate::gift_card::Job,
            intl_orders: crate::intl_order::IntlOrder => crate::intl_order::Job,
            identities: crate::identity_verification::IdentityVerification => crate::identity_verification::Job,
            issuer_links: crate::issuer_link::IssuerLink => crate::issuer_link::Job,
            top_ups: crate::top_up::TopUp => crate::top_up::Job,
            withdrawals: crate::withdrawal::Withdrawal => crate::withdrawal::Job,
            payouts: crate::payout::Payout => crate::payout::Job,
            late_returns: crate::late_return::LateReturn => crate::late_return::Job,
            recipients: crate::payment_recipient::PaymentRecipient => crate::payment_recipient::Job,
            destinations: crate::bank_destination::BankDestination => crate::bank_destination::Job,
            profiles: crate::banking::profile::BankingProfile,
            reloadable_cards: crate::reloadable_card::ReloadableCard => crate::reloadable_card::Job,
            card_withdrawals: crate::card_withdrawal::CardWithdrawal => crate::card_withdrawal::Job,
            agent_wallets: crate::agent_wallet::AgentWallet => crate::agent_wallet::Job,
            wallet_payments: crate::wallet_payment::WalletPayment => crate::wallet_payment::Job,
            applications: crate::banking::application::BankingApplication => crate::banking::application::Job,
            bank_accounts: crate::banking::account::BankAccount => crate::banking::account::Job,
            bank_transfers: crate::banking::transfer::BankTransfer => crate::banking::transfer::Job,
            discrepancies: crate::discrepancy::Discrepancy => crate::discrepancy::Job,
            api_keys: crate::api_key::ApiKey,
            webhooks: crate::webhook::WebhookEndpoint => crate::webhook::Job,
            webhook_deliveries: crate::webhook_delivery::WebhookDelivery => crate::webhook_delivery::Job,
            refunds: crate::refund::Refund => crate::refund::Job,
            incoming: crate::incoming::Incoming => crate::incoming::Job,
            lines: crate::line::LineState,
        }
    };
}
pub(crate) use entities;

/// Generates the enum of what a payment may buy. The order is that of the stored enum: only append.
///
/// ```ignore
/// purchases! {
///     /// A gift card from the catalog.
///     GiftCard(crate::gift_card::GiftCardPurchase) buys GiftCard,
/// }
/// // becomes
/// pub enum Purchase { GiftCard(GiftCardPurchase) }
/// // and functions that pass a variant's questions to its terms, and its order to the product
/// ```
macro_rules! purchases {
    ($($(#[doc = $about:literal])+ $purchase:ident($terms:ty) buys $bought:ident,)+) => {
        /// Purchase of a payment: the parsed request parameters.
        #[derive(Clone, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
        pub enum Purchase {
            $($(#[doc = $about])+ $purchase($terms),)+
        }

        const _: () = {
            let (lines, mut n) = ([$(<$terms as PurchaseTerms>::LINE as usize),+], 0);
            assert!(lines.len() == ProductLine::ALL.len(), "every line has a purchase");
            while n < lines.len() {
                assert!(lines[n] == n, "purchases have the order of their lines");
                n += 1;
            }
        };

        impl Purchase {
            /// Product line of the purchase.
            pub const fn line(&self) -> ProductLine {
                match self {
                    $(Self::$purchase(_) => <$terms as PurchaseTerms>::LINE,)+
                }
            }

            /// [`PurchaseTerms::amount`].
            pub fn amount(&self) -> (Cents, Currency) {
                match self {
                    $(Self::$purchase(terms) => terms.amount(),)+
                }
            }

            /// [`PurchaseTerms::fingerprint_bytes`].
            pub fn fingerprint_bytes(&self) -> Vec<u8> {
                match self {
                    $(Self::$purchase(terms) => terms.fingerprint_bytes(),)+
                }
            }

            /// [`PurchaseTerms::STORES_QUOTE`].
            pub const fn stores_quote(&self) -> bool {
                match self {
                    $(Self::$purchase(_) => <$terms as PurchaseTerms>::STORES_QUOTE,)+
                }
            }

            /// [`PurchaseTerms::preconditions`].
            pub fn preconditions(&self) -> Vec<Precondition> {
                match self {
                    $(Self::$purchase(terms) => terms.preconditions(),)+
                }
            }

            /// Adds the event that names the product, the product, and its first job to the batch of the payment.
            pub(crate) fn sell<D: Entity>(
                &self,
                decision: Decision<D>,
                bought: impl FnOnce(PurchasedProduct) -> D::Event,
                sale: &Sale,
                resolved: &ResolvedPreconditions,
                context: &Context,
            ) -> Result<Decision<D>, InvalidTransition> {
                match self {
                    $(Self::$purchase(terms) => {
                        let found = <<$terms as PurchaseTerms>::Resolved>::try_from(resolved)
                            .map_err(|_| InvalidTransition::new("settling", resolved))?;
                        let order = terms.order(sale, found, context);
                        let product = PurchasedProduct::$bought(sale.number.into());
                        <$terms as PurchaseTerms>::Product::sell(decision.event(bought(product)), sale, order, context)
                    })+
                }
            }
        }
    };
}

/// Generates the enum of what a payment bought, and the table of product types. The order is that of the stored enum:
/// only append.
///
/// ```ignore
/// products! {
///     /// A gift card from the catalog.
///     GiftCard: crate::gift_card::GiftCard,
/// }
/// // becomes
/// pub enum PurchasedProduct { GiftCard(CardId) }
/// pub const PRODUCTS: &[ProductType] = &[ProductType::of::<crate::gift_card::GiftCard>()];
/// // and functions that map a variant to its number, its id's text and its type
/// ```
macro_rules! products {
    ($($(#[doc = $doc:literal])+ $variant:ident: $entity:ty,)+) => {
        /// Product that was bought.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, bincode::Encode, bincode::Decode)]
        pub enum PurchasedProduct {
            $($(#[doc = $doc])+ $variant(<$entity as Entity>::Id),)+
        }

        /// Every type of product.
        pub const PRODUCTS: &[ProductType] = &[$(ProductType::of::<$entity>()),+];

        impl PurchasedProduct {
            /// Its type.
            pub const fn product_type(&self) -> &'static ProductType {
                match self {
                    $(Self::$variant(_) => const { &ProductType::of::<$entity>() },)+
                }
            }

            /// Number of its id.
            pub const fn number(&self) -> u128 {
                match self {
                    $(Self::$variant(id) => id.0,)+
                }
            }
        }

        impl serde::Serialize for PurchasedProduct {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl std::fmt::Display for PurchasedProduct {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {
                    $(Self::$variant(id) => std::fmt::Display::fmt(id, f),)+
                }
            }
        }
    };
}

purchases! {
    /// A US prepaid card.
    UsaCard(crate::card::CardPurchase) buys Card,
    /// An international prepaid card, in whole dollars.
    IntlCard(crate::intl_order::IntlCardPurchase) buys IntlOrder,
    /// A gift card from the catalog.
    GiftCard(crate::gift_card::GiftCardPurchase) buys GiftCard,
    /// A payout to a debit card.
    PushToCard(crate::payout::PushToCardPurchase) buys Payout,
    /// A payout to a registered bank destination.
    BankPayment(crate::payout::BankPaymentPurchase) buys Payout,
    /// A payout to a payment app.
    AppPayment(crate::payout::AppPaymentPurchase) buys Payout,
    /// A top-up of the balance at the card issuer.
    CardBalance(crate::top_up::CardBalancePurchase) buys TopUp,
}

products! {
    /// A US prepaid card.
    Card: crate::card::Card,
    /// An order of an international card.
    IntlOrder: crate::intl_order::IntlOrder,
    /// A gift card from the catalog.
    GiftCard: crate::gift_card::GiftCard,
    /// A payout of any rail.
    Payout: crate::payout::Payout,
    /// A top-up of a card balance.
    TopUp: crate::top_up::TopUp,
}

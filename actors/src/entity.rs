//! The entities: each a state machine with its commands, events, jobs and view. They order each other's work by type.
//! Here are the lists of the engine: every entity, every purchase and every product. A row makes an entity kind's registry with
//! its supervisor and statistics, and brings its jobs; or makes a product purchasable.

pub mod account;
pub mod agent_wallet;
pub mod api_key;
pub mod bank_destination;
pub mod banking;
pub mod card;
pub mod card_withdrawal;
pub mod discrepancy;
pub mod gift_card;
pub mod identity_verification;
pub mod incoming;
pub mod intl_order;
pub mod issuer_link;
pub mod late_return;
pub mod line;
pub mod passkey;
pub mod payment;
pub mod payment_recipient;
pub mod payout;
pub mod recovery;
pub mod refund;
pub mod reloadable_card;
pub mod session;
pub mod spend_approval;
pub mod top_up;
pub mod wallet_payment;
pub mod webhook;
pub mod webhook_delivery;
pub mod withdrawal;

use crate::currency::Currency;
use crate::entity::payment::ResolvedPreconditions;
use crate::kernel::{Context, Decision, Entity, InvalidTransition};
use crate::money::Cents;
use crate::product::{Precondition, Product, ProductLine, ProductType, PurchaseTerms, Sale};

/// Passes the rows to the macro that is named: a registry's name, the entity, and the type of its jobs if it has some.
macro_rules! entities {
    ($rows:ident) => {
        $rows! {
            accounts: crate::entity::account::Account => crate::entity::account::Job,
            payments: crate::entity::payment::Payment => crate::entity::payment::Job,
            cards: crate::entity::card::Card => crate::entity::card::Job,
            sessions: crate::entity::session::Session,
            gift_cards: crate::entity::gift_card::GiftCard => crate::entity::gift_card::Job,
            intl_orders: crate::entity::intl_order::IntlOrder => crate::entity::intl_order::Job,
            identities: crate::entity::identity_verification::IdentityVerification => crate::entity::identity_verification::Job,
            issuer_links: crate::entity::issuer_link::IssuerLink => crate::entity::issuer_link::Job,
            top_ups: crate::entity::top_up::TopUp => crate::entity::top_up::Job,
            withdrawals: crate::entity::withdrawal::Withdrawal => crate::entity::withdrawal::Job,
            payouts: crate::entity::payout::Payout => crate::entity::payout::Job,
            late_returns: crate::entity::late_return::LateReturn => crate::entity::late_return::Job,
            recipients: crate::entity::payment_recipient::PaymentRecipient => crate::entity::payment_recipient::Job,
            destinations: crate::entity::bank_destination::BankDestination => crate::entity::bank_destination::Job,
            profiles: crate::entity::banking::profile::BankingProfile,
            reloadable_cards: crate::entity::reloadable_card::ReloadableCard => crate::entity::reloadable_card::Job,
            card_withdrawals: crate::entity::card_withdrawal::CardWithdrawal => crate::entity::card_withdrawal::Job,
            agent_wallets: crate::entity::agent_wallet::AgentWallet => crate::entity::agent_wallet::Job,
            wallet_payments: crate::entity::wallet_payment::WalletPayment => crate::entity::wallet_payment::Job,
            spend_approvals: crate::entity::spend_approval::SpendApproval => crate::entity::spend_approval::Job,
            applications: crate::entity::banking::application::BankingApplication => crate::entity::banking::application::Job,
            bank_accounts: crate::entity::banking::account::BankAccount => crate::entity::banking::account::Job,
            bank_transfers: crate::entity::banking::transfer::BankTransfer => crate::entity::banking::transfer::Job,
            discrepancies: crate::entity::discrepancy::Discrepancy => crate::entity::discrepancy::Job,
            api_keys: crate::entity::api_key::ApiKey,
            passkeys: crate::entity::passkey::Passkey,
            recoveries: crate::entity::recovery::Recovery => crate::entity::recovery::Job,
            webhooks: crate::entity::webhook::WebhookEndpoint => crate::entity::webhook::Job,
            webhook_deliveries: crate::entity::webhook_delivery::WebhookDelivery => crate::entity::webhook_delivery::Job,
            refunds: crate::entity::refund::Refund => crate::entity::refund::Job,
            incoming: crate::entity::incoming::Incoming => crate::entity::incoming::Job,
            lines: crate::entity::line::LineState,
        }
    };
}
pub(crate) use entities;

/// Generates the enum of what a payment may buy. The order is that of the stored enum: only append.
///
/// ```ignore
/// purchases! {
///     /// A gift card from the catalog.
///     GiftCard(crate::entity::gift_card::GiftCardPurchase) buys GiftCard,
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
///     GiftCard: crate::entity::gift_card::GiftCard,
/// }
/// // becomes
/// pub enum PurchasedProduct { GiftCard(CardId) }
/// pub const PRODUCTS: &[ProductType] = &[ProductType::of::<crate::entity::gift_card::GiftCard>()];
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
                match self {
                    $(Self::$variant(id) => serde::Serialize::serialize(id, serializer),)+
                }
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
    UsaCard(crate::entity::card::CardPurchase) buys Card,
    /// An international prepaid card, in whole dollars.
    IntlCard(crate::entity::intl_order::IntlCardPurchase) buys IntlOrder,
    /// A gift card from the catalog.
    GiftCard(crate::entity::gift_card::GiftCardPurchase) buys GiftCard,
    /// A payout to a debit card.
    PushToCard(crate::entity::payout::PushToCardPurchase) buys Payout,
    /// A payout to a registered bank destination.
    BankPayment(crate::entity::payout::BankPaymentPurchase) buys Payout,
    /// A payout to a payment app.
    AppPayment(crate::entity::payout::AppPaymentPurchase) buys Payout,
    /// A top-up of the balance at the card issuer.
    CardBalance(crate::entity::top_up::CardBalancePurchase) buys TopUp,
}

products! {
    /// A US prepaid card.
    Card: crate::entity::card::Card,
    /// An order of an international card.
    IntlOrder: crate::entity::intl_order::IntlOrder,
    /// A gift card from the catalog.
    GiftCard: crate::entity::gift_card::GiftCard,
    /// A payout of any rail.
    Payout: crate::entity::payout::Payout,
    /// A top-up of a card balance.
    TopUp: crate::entity::top_up::TopUp,
}

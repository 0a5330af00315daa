//! Providers: card issuers, catalogs, payout rails, banks and others, each defined in a file of its own with
//! `provider!`. Card numbers are readable here only inside a `Secret`, and reach the engine sealed.

pub mod bank_account_number;
pub mod banking;
pub mod bridge;
pub mod cards;
pub mod connect;
mod definition;
#[cfg(feature = "documents")]
pub mod document;
pub mod gift_cards;
pub mod identity;
pub mod issuer_accounts;
pub mod merchants;
pub mod payouts;
pub mod rates;
pub mod reconciliation;
pub mod reloadable_cards;
pub mod remote;
pub mod sandbox;
pub mod search;
pub mod server;
pub mod wire;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
pub use purser_actors::entity::intl_order::BillingAddress;
use purser_actors::port::{
    Bridge, CardBalances, IdentityCheck, IssuerAccounts, KeyShredder, PaidHttpClient, Ports, ProviderList, Settlement,
    WalletSigner, WebhookSender,
};
use purser_actors::reconciliation::ReconciliationSource;
use purser_config::RemoteProviders;
pub use purser_protocol::callback;
use purser_vault::{DocumentStore, Vault};

use self::banking::{BankApi, SealingBank};
pub use self::cards::{CardIssuerApi, PlainCard, PlainIssueResult, SealingIssuer};
#[cfg(feature = "documents")]
use self::document::Operations;
use self::gift_cards::{GiftCardApi, SealingGiftCards};
pub use self::issuer_accounts::CardBalanceReader;
use self::merchants::MerchantDirectory;
use self::payouts::{PayoutApi, SealingPayouts};
use self::rates::RateSource;
use self::reconciliation::{ReconciliationApi, RemoteReconciliationList};
use self::reloadable_cards::{ReloadableCardApi, SealingReloadableCards};
use self::remote::RemoteClient;

/// The protocol's OpenAPI document. Tests generate it from the definitions.
pub const OPENAPI: &str = include_str!("../../docs/providers.openapi.json");

/// Writes [`Providers`], and what is the same for all of them. A row has a provider's field and trait, the module of its
/// definition and its client, its name in the settings, the reconciliation lists that it keeps, and its tag in the
/// document unless it has that of the row before.
///
/// ```ignore
/// providers! {
///     /// Sells gift cards.
///     gift_cards: GiftCardApi = gift_cards: RemoteGiftCards at gift_cards keeps [GiftCards] tag "Gift cards": "…";
/// }
/// // becomes
/// pub struct Providers { pub gift_cards: Arc<dyn GiftCardApi>, /* … */ }
/// // and `unconfigured_ports`, `connect`, `routes` and `describe`, which go through the rows
/// ```
macro_rules! providers {
    ($($(#[$doc:meta])* $field:ident: $port:path = $module:ident $(:: $inner:ident)?: $client:ident at $setting:ident keeps [$($list:ident),*]
        $(tag $tag:literal: $about:literal)?;)+) => {
        /// All providers with unsealed data, local or remote.
        #[derive(Clone)]
        pub struct Providers {
            $($(#[$doc])* pub $field: Arc<dyn $port>,)+
            /// Of the issuer's cards, as it was at the start.
            pub billing_address: BillingAddress,
            pub lists: ProviderLists,
        }

        impl Providers {
            /// Clients without an address: every call fails as `Temporary`.
            fn unconfigured_ports(billing_address: BillingAddress) -> Self {
                Self {
                    $($field: Arc::new($module::$($inner::)?$client(RemoteClient::unconfigured())),)+
                    billing_address,
                    lists: ProviderLists::new(),
                }
            }

            /// Replaces the providers that have a client by remote ones, with their lists.
            fn connect(&mut self, remote: &RemoteProviders, clients: &mut connect::Clients) -> Result<(), String> {
                $(if let Some(client) = clients.get(stringify!($setting), &remote.$setting)? {
                    $(self.replace_list(ReconciliationSource::$list, &client);)*
                    self.$field = Arc::new($module::$($inner::)?$client(client));
                })+
                Ok(())
            }
        }

        /// Routes of every operation.
        fn routes(providers: &Providers) -> Router {
            let lists: Arc<dyn ReconciliationApi> = Arc::new(providers.lists.clone());
            Router::new()
                $(.merge($module::$($inner::)?routes(&providers.$field)))+
                .merge(reconciliation::routes(&lists))
        }

        /// Every operation, by its tag.
        #[cfg(feature = "documents")]
        fn describe(document: &mut Operations) {
            $($(document.tag($tag, $about);)?
            $module::$($inner::)?describe(document);)+
            document.tag("Reconciliation", "Everything that the provider did, for comparison.");
            reconciliation::describe(document);
        }
    };
}

providers! {
    issuer: CardIssuerApi = cards: RemoteIssuer at issuer keeps [Cards, PrepaidRemainders]
        tag "Cards": "Prepaid cards.";
    gift_cards: GiftCardApi = gift_cards: RemoteGiftCards at gift_cards keeps [GiftCards]
        tag "Gift cards": "The gift card catalog and its orders.";
    payouts: PayoutApi = payouts: RemotePayouts at payouts keeps [Payouts]
        tag "Payouts": "Payouts to debit cards, bank accounts and payment apps.";
    identity_check: IdentityCheck = identity: RemoteIdentityCheck at identity keeps []
        tag "Identity": "Identity checks.";
    accounts: IssuerAccounts = issuer_accounts::accounts: RemoteIssuerAccounts at issuer_accounts keeps []
        tag "Issuer accounts": "Accounts at the card issuer and their deposits.";
    /// Observes deposits to issuer accounts.
    deposits: CardBalances = issuer_accounts::deposits: RemoteCardDeposits at issuer_accounts keeps [];
    balances: CardBalanceReader = issuer_accounts::balances: RemoteCardBalances at issuer_accounts keeps [];
    /// Opens reloadable cards and takes the money from those balances.
    reloadable_cards: ReloadableCardApi = reloadable_cards: RemoteReloadableCards at issuer_accounts
        keeps [ReloadableCards, CardBalances]
        tag "Reloadable cards": "Reloadable cards and holds on the balances that they spend.";
    bank: BankApi = banking: RemoteBank at banking keeps [BankTransfers, BankDeposits]
        tag "Banking": "Applications, accounts and transfers at the bank.";
    /// Moves USDC from Solana to Base.
    bridge: Bridge = bridge: RemoteBridge at bridge keeps [Bridge]
        tag "Bridge": "Burns, attestations and mints of USDC.";
    rates: RateSource = rates: RemoteRates at rates keeps []
        tag "Reference data": "Exchange rates and merchants.";
    merchants: MerchantDirectory = merchants: RemoteMerchantDirectory at merchants keeps [];
}

/// The ports of the engine that are no providers.
pub struct OwnPorts {
    pub settlement: Arc<dyn Settlement>,
    pub shredder: Arc<dyn KeyShredder>,
    pub wallet_signer: Arc<dyn WalletSigner>,
    pub paid_http: Arc<dyn PaidHttpClient>,
    pub webhooks: Arc<dyn WebhookSender>,
}

impl Providers {
    /// The engine's ports: what the engine must not read is sealed by `vault`.
    pub fn ports(&self, vault: &Arc<Vault>, documents: DocumentStore, own: OwnPorts) -> Ports {
        let sealed = || vault.clone();
        Ports {
            settlement: own.settlement,
            issuer: Arc::new(SealingIssuer::new(self.issuer.clone(), sealed())),
            gift_cards: Arc::new(SealingGiftCards::new(self.gift_cards.clone(), sealed())),
            shredder: own.shredder,
            identity_check: self.identity_check.clone(),
            issuer_accounts: self.accounts.clone(),
            payout_rails: Arc::new(SealingPayouts::new(self.payouts.clone(), sealed())),
            card_balances: self.deposits.clone(),
            reloadable_cards: Arc::new(SealingReloadableCards::new(self.reloadable_cards.clone(), sealed())),
            bridge: self.bridge.clone(),
            wallet_signer: own.wallet_signer,
            paid_http: own.paid_http,
            webhooks: own.webhooks,
            bank: Arc::new(SealingBank::new(self.bank.clone(), sealed(), documents)),
        }
    }

    fn replace_list(&mut self, list: ReconciliationSource, client: &RemoteClient) {
        let remote = client.clone();
        self.lists
            .insert(list, Arc::new(RemoteReconciliationList { remote, list }));
    }
}

/// Reconciliation lists by source.
pub type ProviderLists = BTreeMap<ReconciliationSource, Arc<dyn ProviderList>>;

//! All entity registries of the engine. A line here gives an entity kind its actors, supervisor, passivation and
//! statistics, and its jobs their handler.

use ractor::{ActorCell, SpawnErr};

use super::customers::CustomerResource;
use super::jobs::table::JobKind;
use super::stats::{EntityStats, EntitySupervisorInfo};
use crate::account::Account;
use crate::agent_wallet::AgentWallet;
use crate::api_key::ApiKey;
use crate::bank_destination::BankDestination;
use crate::banking::account::BankAccount;
use crate::banking::application::BankingApplication;
use crate::banking::profile::BankingProfile;
use crate::banking::transfer::BankTransfer;
use crate::card::Card;
use crate::card_withdrawal::CardWithdrawal;
use crate::discrepancy::Discrepancy;
use crate::gift_card::GiftCard;
use crate::identity_verification::IdentityVerification;
use crate::incoming::Incoming;
use crate::intl_order::IntlOrder;
use crate::issuer_link::IssuerLink;
use crate::kernel::chart::Chart;
use crate::kernel::entity::EntityId;
use crate::kernel::registry::{EntityDeps, LoadError};
use crate::kernel::{Entity, EntityKind, EntityRegistry, StateMachine, event_record};
use crate::late_return::LateReturn;
use crate::line::LineState;
use crate::payment::Payment;
use crate::payment_recipient::PaymentRecipient;
use crate::payout::Payout;
use crate::refund::Refund;
use crate::reloadable_card::ReloadableCard;
use crate::session::Session;
use crate::top_up::TopUp;
use crate::wallet_payment::WalletPayment;
use crate::webhook::WebhookEndpoint;
use crate::webhook_delivery::WebhookDelivery;
use crate::withdrawal::Withdrawal;

macro_rules! define_registries {
    ($($field:ident: $entity:ty $(=> $job:ty)?,)*) => {
        /// One registry of each kind.
        #[derive(Clone)]
        pub(super) struct Registries {
            $(pub(super) $field: EntityRegistry<$entity>,)*
        }

        /// Every event type that clients can subscribe to, sorted: `<resource>.<change>`.
        pub fn event_types() -> Vec<String> {
            let mut types = Vec::new();
            $(if !<$entity as Entity>::SYSTEM_OWNED {
                let names = <$entity>::CHART.event_names().into_iter();
                types.extend(names.map(|name| event_record::event_type(<$entity>::KIND.name(), name)));
            })*
            types.sort_unstable();
            types
        }

        /// Every entity's name and chart.
        pub fn charts() -> Vec<(&'static str, &'static Chart)> {
            vec![$((<$entity>::KIND.name(), <$entity>::CHART)),*]
        }

        /// The jobs of each kind that has some.
        pub(super) const JOB_KINDS: &[JobKind] = &[$($(JobKind::of::<$job>(),)?)*];

        impl Registries {
            /// Every kind, in the order of the fields.
            pub(super) const KINDS: &'static [EntityKind] = &[$(<$entity as Entity>::KIND),*];

            /// Starts each registry with its supervisor under `root`.
            pub(super) async fn start(deps: &EntityDeps, root: &ActorCell) -> Result<Self, SpawnErr> {
                Ok(Self {
                    $($field: EntityRegistry::start(deps.clone(), root.clone()).await?,)*
                })
            }

            /// Passivates idle entities.
            pub(super) fn sweep(&self) {
                $(self.$field.passivate_idle();)*
            }

            /// Every entity with this id, of any kind. A wallet names an account and the owner's single entities.
            pub(super) async fn find_by_id(&self, text: &str) -> Result<Vec<CustomerResource>, LoadError> {
                let mut resources = Vec::new();
                $(if let Ok(id) = text.parse::<<$entity as Entity>::Id>()
                    && let Some((one, _)) = self.$field.read(&id).await?
                {
                    resources.push(CustomerResource::from_entity(&id, &one));
                })*
                Ok(resources)
            }

            /// The entity in the row of this kind and this part of a key.
            pub(super) async fn list_after(&self, kind: u8, key: &[u8]) -> Result<Option<CustomerResource>, LoadError> {
                $(if kind == <$entity as Entity>::KIND as u8
                    && let Some(id) = <<$entity as Entity>::Id as EntityId>::from_key(key)
                {
                    let read = self.$field.read(&id).await?;
                    return Ok(read.map(|(one, _)| CustomerResource::from_entity(&id, &one)));
                })*
                Ok(None)
            }

            /// Statistics of each kind, in the order of [`Registries::KINDS`].
            pub(super) fn entity_stats(&self) -> Vec<EntityStats> {
                vec![$(EntityStats::from_registry(&self.$field)),*]
            }

            /// Supervisors and actors of each kind, in the same order.
            pub(super) fn supervisor_states(&self) -> Vec<EntitySupervisorInfo> {
                vec![$(EntitySupervisorInfo::from_registry(&self.$field)),*]
            }
        }
    };
}

define_registries! {
    accounts: Account => crate::account::Job,
    payments: Payment => crate::payment::Job,
    cards: Card => crate::card::Job,
    sessions: Session,
    gift_cards: GiftCard => crate::gift_card::Job,
    intl_orders: IntlOrder => crate::intl_order::Job,
    identities: IdentityVerification => crate::identity_verification::Job,
    issuer_links: IssuerLink => crate::issuer_link::Job,
    top_ups: TopUp => crate::top_up::Job,
    withdrawals: Withdrawal => crate::withdrawal::Job,
    payouts: Payout => crate::payout::Job,
    late_returns: LateReturn => crate::late_return::Job,
    recipients: PaymentRecipient => crate::payment_recipient::Job,
    destinations: BankDestination => crate::bank_destination::Job,
    profiles: BankingProfile,
    reloadable_cards: ReloadableCard => crate::reloadable_card::Job,
    card_withdrawals: CardWithdrawal => crate::card_withdrawal::Job,
    agent_wallets: AgentWallet => crate::agent_wallet::Job,
    wallet_payments: WalletPayment => crate::wallet_payment::Job,
    applications: BankingApplication => crate::banking::application::Job,
    bank_accounts: BankAccount => crate::banking::account::Job,
    bank_transfers: BankTransfer => crate::banking::transfer::Job,
    discrepancies: Discrepancy => crate::discrepancy::Job,
    api_keys: ApiKey,
    webhooks: WebhookEndpoint => crate::webhook::Job,
    webhook_deliveries: WebhookDelivery => crate::webhook_delivery::Job,
    refunds: Refund => crate::refund::Job,
    incoming: Incoming => crate::incoming::Job,
    lines: LineState,
}

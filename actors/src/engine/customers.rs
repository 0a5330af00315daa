//! Customer lookup: by wallet, `user_id`, any of our ids, the last four digits of a card, or the id of the request that
//! started something. Also the overview that operators see. Reads only, from the latest durable state.

use std::collections::VecDeque;

use purser_storage::{RowKey, codec};

use super::Engine;
use super::registries::Registries;
use crate::entity::account::Account;
use crate::entity::card::Card;
use crate::entity::intl_order::IntlOrder;
use crate::entity::passkey::{self, Passkey};
use crate::entity::payment;
use crate::entity::reloadable_card::ReloadableCard;
use crate::id::{CardId, DepositId, JobId, Network, PasskeyId, PaymentId, RequestId, Wallet, WithdrawalId};
use crate::kernel::entity::EntityId as _;
use crate::kernel::job::AnyJob;
use crate::kernel::registry::LoadError;
use crate::kernel::{Entity, EntityKind, JsonObject, OutboxJob, table};
use crate::port::{ChainMovement, claim_key};

/// Rows that one call scans, for the last digits of cards or the case of an address.
const SCAN_LIMIT: usize = 20_000;
/// Rows read in one page.
const PAGE: usize = 1_000;
/// Entity kinds that have a card number.
const CARDS: [EntityKind; 3] = [EntityKind::Card, EntityKind::IntlOrder, EntityKind::ReloadableCard];

/// An entity of a customer, as its owner sees it. No secrets.
#[derive(Clone, Debug)]
pub struct CustomerResource {
    /// Its kind.
    pub kind: EntityKind,
    /// Its id as text.
    pub id: String,
    /// Name of the resource's status.
    pub status: &'static str,
    /// Account that owns it.
    pub owner: Wallet,
    /// The other fields of the owner's view.
    pub view: JsonObject,
}

impl CustomerResource {
    pub(super) fn from_entity<E: Entity>(id: &E::Id, entity: &E) -> Self {
        Self {
            kind: E::KIND,
            id: id.to_string(),
            status: entity.status(),
            owner: entity.owner(),
            view: JsonObject::of(&entity.view(id)),
        }
    }
}

/// A customer's entities of one kind.
#[derive(Clone, Debug)]
pub struct ResourceGroup {
    /// Its kind.
    pub kind: EntityKind,
    /// Number of entities, including those not listed.
    pub count: usize,
    /// The newest ones, newest first.
    pub newest: Vec<CustomerResource>,
}

/// Overview of one customer.
#[derive(Clone, Debug)]
pub struct Customer {
    /// Balance, caps and freeze status.
    pub account: Account,
    /// Entities by kind, without the account itself.
    pub resources: Vec<ResourceGroup>,
    /// Open jobs, dead-lettered ones included, oldest first.
    pub open_jobs: Vec<OutboxJob>,
}

/// A position among all cards: the key of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardScanCursor(Vec<u8>);

impl std::fmt::Display for CardScanCursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(&self.0))
    }
}

impl CardScanCursor {
    /// Parses a cursor; `None` for text that is no position of a card.
    pub fn parse(text: &str) -> Option<Self> {
        let key = hex::decode(text).ok()?;
        let of = |kind: &EntityKind| key.starts_with(&[table::ENTITY, *kind as u8]);
        (key.len() == 18 && CARDS.iter().any(of)).then_some(Self(key))
    }
}

impl Engine {
    /// Entities with this id. A wallet names its account and the owner's single entities. A job id names the job's
    /// subject. A card id can be of any kind of card. Empty if nothing has the id.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customer_by_id(&self, text: &str) -> Result<Vec<CustomerResource>, LoadError> {
        let Ok(outbox_job) = text.parse::<JobId>() else {
            // The address of an agent wallet leads to its owner.
            let owner = text
                .parse::<Wallet>()
                .map(|address| self.account_of(&address).address());
            let mut found = self.0.registries.find_by_id(owner.as_deref().unwrap_or(text)).await?;
            if let Ok(id) = text.parse::<PasskeyId>()
                && let Some(passkey) = self.passkey(&id).await?
            {
                found = vec![self.passkey_resource(id, &passkey).await?];
            }
            return Ok(found);
        };
        let Some(row) = self.0.store.read(&table::outbox_job(outbox_job)).await? else {
            return Ok(Vec::new());
        };
        let outbox_job: OutboxJob = codec::decode(&row.value).map_err(|e| LoadError::Corrupt(text.to_owned(), e))?;
        self.0.registries.find_by_id(&outbox_job.job.subject()).await
    }

    /// What a request created. `None` for a request that created nothing (reads and errors), and for one from before
    /// this table existed.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customers_by_request(&self, request: RequestId) -> Result<Option<CustomerResource>, LoadError> {
        let row = self.0.store.read(&table::request(request)).await?;
        let Some((kind, id)) = row.as_ref().and_then(|row| kind_and_id(&row.value)) else {
            return Ok(None);
        };
        self.0.registries.list_after(kind, id).await
    }

    /// What a transfer to or from our treasury belongs to: the payment it settles, the incoming transfer it is recorded
    /// as, or the withdrawal from a card balance that an operator paid with it. Each is found by an id or a row that
    /// follows from the transfer; nothing is searched.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customers_by_transfer(
        &self,
        network: Network,
        moved: &ChainMovement,
    ) -> Result<Vec<CustomerResource>, LoadError> {
        let mut found = Vec::new();
        if moved.incoming {
            let claim = claim_key(&moved.counterparty, &moved.fingerprint);
            let payment = payment::id_for_claim(&moved.counterparty, &claim, &self.0.secret);
            let read = self.0.registries.payments.read(&payment).await?;
            found.extend(read.map(|(one, _)| CustomerResource::from_entity(&payment, &one)));
            let deposit = DepositId::for_transfer(network, &moved.transaction, moved.index);
            let read = self.0.registries.incoming.read(&deposit).await?;
            found.extend(read.map(|(one, _)| CustomerResource::from_entity(&deposit, &one)));
        }
        Ok(found)
    }

    /// The withdrawal from a card balance that an operator paid with this transaction.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customers_by_payout_transaction(
        &self,
        transaction: &str,
    ) -> Result<Option<CustomerResource>, LoadError> {
        let row = self.0.store.read(&table::withdrawal_transaction(transaction)).await?;
        let Some(id) = row.as_ref().and_then(|row| WithdrawalId::from_key(&row.value)) else {
            return Ok(None);
        };
        let read = self.0.registries.card_withdrawals.read(&id).await?;
        Ok(read.map(|(one, _)| CustomerResource::from_entity(&id, &one)))
    }

    /// Text of an id as an event record has it. `None` for a kind that this program does not know.
    pub fn id_text(&self, kind: u8, key: &[u8]) -> Option<String> {
        Registries::id_text(kind, key)
    }

    /// Cards whose number ends in these digits, after a cursor. One call scans a limited number of cards, kind by kind.
    /// It returns the cursor to continue from if there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customers_by_last4(
        &self,
        last4: &str,
        after: Option<CardScanCursor>,
    ) -> Result<(Vec<CustomerResource>, Option<CardScanCursor>), LoadError> {
        let (mut found, mut looked) = (Vec::new(), 0);
        let mut after = after.map(|place| RowKey::from(place.0));
        let begins = |kind: &EntityKind| after.as_ref().is_none_or(|key| key.get(1) == Some(&(*kind as u8)));
        let first = CARDS.iter().position(begins).unwrap_or(0);
        for kind in &CARDS[first..] {
            loop {
                let prefix = [table::ENTITY, *kind as u8];
                let page = self.0.store.scan(&prefix, after.as_deref(), PAGE).await?;
                for (key, row) in &page {
                    found.extend(ends_in(*kind, key, &row.value, last4)?);
                }
                looked += page.len();
                after = page.last().map(|(key, _)| key.clone());
                match &after {
                    Some(key) if looked >= SCAN_LIMIT => return Ok((found, Some(CardScanCursor(key.to_vec())))),
                    Some(_) => {}
                    None => break,
                }
            }
        }
        Ok((found, None))
    }

    /// Solana accounts with this `user_id`, after an account. An address can't be derived from its lower case, so one
    /// call scans a limited number of accounts. It returns the account to continue after if there are more.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customers_by_user_id(
        &self,
        user_id: &str,
        after: Option<Wallet>,
    ) -> Result<(Vec<CustomerResource>, Option<Wallet>), LoadError> {
        // The first byte of a wallet's key names its chain.
        let solana = table::entity(EntityKind::Account, &Wallet::Solana([0; 32]).key()[..1]);
        let mut after = after.map(|wallet| table::entity(EntityKind::Account, &wallet.key()));
        let (mut found, mut looked) = (Vec::new(), 0);
        loop {
            let page = self.0.store.scan(&solana, after.as_deref(), PAGE).await?;
            let wallets = page.iter().filter_map(|(key, _)| Wallet::from_key(kind_and_id(key)?.1));
            let wallets: Vec<Wallet> = wallets.filter(|wallet| wallet.user_id() == user_id).collect();
            for wallet in wallets {
                found.extend(
                    self.account(&wallet)
                        .await?
                        .map(|account| CustomerResource::from_entity(&wallet, &account)),
                );
            }
            looked += page.len();
            after = page.last().map(|(key, _)| key.clone());
            let last = after.as_deref().and_then(|key| Wallet::from_key(kind_and_id(key)?.1));
            if last.is_none() || looked >= SCAN_LIMIT {
                return Ok((found, last));
            }
        }
    }

    /// A customer with at most `of_each` entities of each kind. Reads the ids of all its entities and every open job.
    ///
    /// # Errors
    /// When storage fails.
    pub async fn customer(&self, wallet: &Wallet, of_each: usize) -> Result<Option<Customer>, LoadError> {
        let Some(account) = self.account(wallet).await? else {
            return Ok(None);
        };
        let mut owns: Vec<ResourceGroup> = Vec::new();
        for thing in self.customer_by_id(&wallet.address()).await? {
            if thing.kind != EntityKind::Account {
                owns.push(ResourceGroup {
                    kind: thing.kind,
                    count: 1,
                    newest: vec![thing],
                });
            }
        }
        let passkeys = self.passkey_group(wallet, of_each).await?;
        owns.extend((passkeys.count > 0).then_some(passkeys));
        for kind in Registries::KINDS {
            let belongings = self.resource_groups(wallet, *kind, of_each).await?;
            owns.extend((belongings.count > 0).then_some(belongings));
        }
        let open_work = self.open_jobs_of(wallet).await?;
        Ok(Some(Customer {
            account,
            resources: owns,
            open_jobs: open_work,
        }))
    }

    /// Passkeys are found by their slots. Those that were removed are not listed.
    async fn passkey_group(&self, wallet: &Wallet, most: usize) -> Result<ResourceGroup, LoadError> {
        let passkeys = self.passkeys_of(wallet).await?;
        let mut newest = Vec::with_capacity(most.min(passkeys.len()));
        for (id, passkey) in passkeys.iter().rev().take(most) {
            newest.push(self.passkey_resource(*id, passkey).await?);
        }
        Ok(ResourceGroup {
            kind: EntityKind::Passkey,
            count: passkeys.len(),
            newest,
        })
    }

    async fn passkey_resource(&self, id: PasskeyId, passkey: &Passkey) -> Result<CustomerResource, LoadError> {
        let resource = CustomerResource::from_entity(&id, passkey);
        if !passkey.is_active() || !self.is_passkey_suspended(id, passkey.created_at).await? {
            return Ok(resource);
        }
        Ok(CustomerResource {
            status: passkey::SUSPENDED,
            view: JsonObject::of(&passkey.view(&id).suspended()),
            ..resource
        })
    }

    async fn resource_groups(
        &self,
        wallet: &Wallet,
        kind: EntityKind,
        most: usize,
    ) -> Result<ResourceGroup, LoadError> {
        let (prefix, mut after, mut count) = (table::owner_index(wallet, kind), None, 0);
        let mut kept: VecDeque<RowKey> = VecDeque::new();
        loop {
            let page = self.0.store.scan(&prefix, after.as_deref(), PAGE).await?;
            let more = page.len() == PAGE;
            for (key, _) in page {
                count += 1;
                after = Some(key.clone());
                kept.push_back(key);
                if kept.len() > most && table::newest_first(kind) {
                    kept.pop_back();
                } else if kept.len() > most {
                    kept.pop_front();
                }
            }
            if !more {
                break;
            }
        }
        let mut newest = Vec::with_capacity(kept.len());
        for key in kept {
            let id = key.last_chunk::<16>().map_or(&[][..], |id| id);
            newest.extend(self.listed_resource(kind, id).await?);
        }
        if !table::newest_first(kind) {
            newest.reverse();
        }
        Ok(ResourceGroup { kind, count, newest })
    }

    /// Withdrawals from a card balance are listed with the other withdrawals.
    async fn listed_resource(&self, kind: EntityKind, id: &[u8]) -> Result<Option<CustomerResource>, LoadError> {
        let registries = &self.0.registries;
        match registries.list_after(kind as u8, id).await? {
            None if kind == EntityKind::Withdrawal => registries.list_after(EntityKind::CardWithdrawal as u8, id).await,
            found => Ok(found),
        }
    }

    /// Open jobs for a wallet: about it, about one of its payments, or about one of its entities.
    pub(super) async fn open_jobs_of(&self, wallet: &Wallet) -> Result<Vec<OutboxJob>, LoadError> {
        let mut found = Vec::new();
        for outbox_job in self.open_jobs(usize::MAX).await? {
            if self.is_for(&outbox_job.job, wallet).await? {
                found.push(outbox_job);
            }
        }
        found.sort_by_key(|outbox_job| (outbox_job.created_at, outbox_job.id));
        Ok(found)
    }

    async fn is_for(&self, work: &AnyJob, wallet: &Wallet) -> Result<bool, LoadError> {
        let subject = work.subject();
        if let Ok(payment) = subject.parse::<PaymentId>() {
            let read = self.payment(&payment).await?;
            return Ok(read.is_some_and(|payment| payment.account() == *wallet));
        }
        let named = self.0.registries.find_by_id(&subject).await?;
        Ok(named.iter().any(|thing| thing.owner == *wallet))
    }
}

/// Kind and id in the key of an entity's row.
fn kind_and_id(key: &[u8]) -> Option<(u8, &[u8])> {
    let (kind, id) = key.strip_prefix(&[table::ENTITY])?.split_first()?;
    Some((*kind, id))
}

/// The card of a row, if its number ends in these digits.
fn ends_in(kind: EntityKind, key: &[u8], row: &[u8], last4: &str) -> Result<Option<CustomerResource>, LoadError> {
    let Some(id) = kind_and_id(key).and_then(|(_, id)| CardId::from_key(id)) else {
        return Ok(None);
    };
    match kind {
        EntityKind::Card => matches_last4(id, row, last4, |card: &Card| card.details().map(|d| &*d.last4)),
        EntityKind::IntlOrder => matches_last4(id, row, last4, |order: &IntlOrder| order.details().map(|d| &*d.last4)),
        _ => matches_last4(id, row, last4, |card: &ReloadableCard| {
            card.details().map(|d| &*d.last4)
        }),
    }
}

fn matches_last4<E: Entity<Id = CardId>>(
    id: CardId,
    row: &[u8],
    last4: &str,
    digits: impl Fn(&E) -> Option<&str>,
) -> Result<Option<CustomerResource>, LoadError> {
    let card: E = codec::decode(row).map_err(|e| LoadError::Corrupt(id.to_string(), e))?;
    Ok((digits(&card) == Some(last4)).then(|| CustomerResource::from_entity(&id, &card)))
}

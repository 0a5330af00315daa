//! An engine with fake providers, and helpers of the tests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use purser_actors::engine::{
    ClaimError, Engine, EngineDeps, EngineSettings, LostHistory, PaymentRequest, PaymentResult, Ports, ReconcilerDeps,
    RestoreWindow,
};
use purser_actors::entity::card::{Card, CardPurchase};
use purser_actors::entity::intl_order::IntlCardPurchase;
use purser_actors::entity::payment::{Outcome, SessionSeed};
use purser_actors::entity::{Purchase, PurchasedProduct};
use purser_actors::id::{CardId, SessionId, Wallet};
use purser_actors::kernel::event_record::EventRecord;
use purser_actors::kernel::{EntityKind, table};
use purser_actors::ledger::{LedgerAccount, LedgerProvider, LedgerTransaction};
use purser_actors::money::{Cents, Usdc};
use purser_actors::port::{Authorization, EvmAuthorization, SolanaTransfer};
use purser_storage::codec;

use super::bank::FakeBank;
use super::bridge::FakeBridge;
use super::gift_cards::FakeGiftCards;
use super::identity::FakeIdentityProviders;
use super::payouts::FakePayouts;
use super::ports::{FakeChain, FakeIssuer, RecordingShredder};
use super::receivers::FakeReceivers;
use super::reloadable_cards::FakeReloadableCards;
use super::sellers::FakeSellers;
use super::settings::fast;
use super::store::MemoryStore;
use super::{SeededEntropy, TestClock, quiet_expected_panics};

/// What survives a process.
type Environment = (
    Arc<FakeChain>,
    Arc<FakeIssuer>,
    Arc<FakeGiftCards>,
    Arc<FakePayouts>,
    Arc<RecordingShredder>,
    Arc<FakeIdentityProviders>,
    Arc<FakeBridge>,
    Arc<FakeReloadableCards>,
    Arc<FakeSellers>,
    Arc<FakeBank>,
    Arc<FakeReceivers>,
    Arc<TestClock>,
);

pub(crate) struct Harness {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) chain: Arc<FakeChain>,
    pub(crate) issuer: Arc<FakeIssuer>,
    pub(crate) gift_cards: Arc<FakeGiftCards>,
    pub(crate) payouts: Arc<FakePayouts>,
    pub(crate) shredder: Arc<RecordingShredder>,
    pub(crate) identity: Arc<FakeIdentityProviders>,
    pub(crate) bridge: Arc<FakeBridge>,
    pub(crate) reloadable_cards: Arc<FakeReloadableCards>,
    pub(crate) sellers: Arc<FakeSellers>,
    pub(crate) bank: Arc<FakeBank>,
    pub(crate) receivers: Arc<FakeReceivers>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) engine: Engine,
    settings: EngineSettings,
    restored: Option<RestoreWindow>,
    lost_history: Option<LostHistory>,
    reconciling: Option<ReconcilerDeps>,
}

impl Harness {
    pub(crate) async fn new() -> Self {
        Self::with(fast()).await
    }

    /// Cuts the power and starts on what counts as a restored backup.
    pub(crate) async fn restored(mut self, restored: RestoreWindow) -> Self {
        self.restored = Some(restored);
        self.crash().await
    }

    /// From now on each start is that of a restored store that lost this time range.
    pub(crate) const fn with_lost_history(mut self, lost: LostHistory) -> Self {
        self.lost_history = Some(lost);
        self
    }

    /// Cuts the power and starts with providers' lists.
    pub(crate) async fn reconciling(mut self, reconciling: ReconcilerDeps) -> Self {
        self.reconciling = Some(reconciling);
        self.crash().await
    }

    pub(crate) async fn with(settings: EngineSettings) -> Self {
        let chain = Arc::new(FakeChain::new());
        let sellers = Arc::new(FakeSellers::on_chain(&chain));
        let surroundings = (
            chain,
            Arc::new(FakeIssuer::default()),
            Arc::new(FakeGiftCards::default()),
            Arc::new(FakePayouts::default()),
            Arc::new(RecordingShredder::default()),
            Arc::default(),
            Arc::new(FakeBridge::default()),
            Arc::default(),
            sellers,
            Arc::default(),
            Arc::default(),
            Arc::new(TestClock::new()),
        );
        Self::on(MemoryStore::new(), surroundings, (settings, None, None, None)).await
    }

    async fn on(
        store: Arc<MemoryStore>,
        (chain, issuer, catalog, rails, shreds, people, bridge, program, sellers, bank, receivers, clock): Environment,
        (settings, restored, lost, reconciling): (
            EngineSettings,
            Option<RestoreWindow>,
            Option<LostHistory>,
            Option<ReconcilerDeps>,
        ),
    ) -> Self {
        // A new process never has the random numbers of the old one.
        static STARTS: AtomicU64 = AtomicU64::new(0);
        quiet_expected_panics();
        let engine = Engine::start(EngineDeps {
            store: store.clone(),
            clock: clock.clone(),
            entropy: Arc::new(SeededEntropy::new(STARTS.fetch_add(1, Ordering::SeqCst))),
            ports: Ports {
                settlement: chain.clone(),
                issuer: issuer.clone(),
                gift_cards: catalog.clone(),
                shredder: shreds.clone(),
                identity_check: people.clone(),
                issuer_accounts: people.clone(),
                payout_rails: rails.clone(),
                bridge: bridge.clone(),
                card_balances: bridge.clone(),
                reloadable_cards: program.clone(),
                wallet_signer: sellers.clone(),
                paid_http: sellers.clone(),
                bank: bank.clone(),
                webhooks: receivers.clone(),
            },
            lost_history: lost,
            restored,
            reconciler: reconciling.clone(),
            settings,
        });
        Self {
            engine: engine.await.expect("the engine starts"),
            store,
            chain,
            issuer,
            gift_cards: catalog,
            payouts: rails,
            shredder: shreds,
            identity: people,
            bridge,
            reloadable_cards: program,
            sellers,
            bank,
            receivers,
            clock,
            settings,
            restored,
            lost_history: lost,
            reconciling,
        }
    }

    /// Cuts the power and restarts: only durable data stays.
    pub(crate) async fn crash(self) -> Self {
        let survivor = self.store.crash();
        self.on_store(survivor).await
    }

    /// Keeps the providers' state; the store is that of the backup.
    pub(crate) async fn back_to(self, backup: Arc<MemoryStore>) -> Self {
        drop(self.store.crash());
        self.on_store(backup).await
    }

    async fn on_store(self, store: Arc<MemoryStore>) -> Self {
        self.engine.stop();
        let outside = (
            self.chain,
            self.issuer,
            self.gift_cards,
            self.payouts,
            self.shredder,
            self.identity,
            self.bridge,
            self.reloadable_cards,
            self.sellers,
            self.bank,
            self.receivers,
            self.clock,
        );
        let how = (self.settings, self.restored, self.lost_history, self.reconciling);
        Self::on(store, outside, how).await
    }

    pub(crate) async fn pay(&self, request: &PaymentRequest) -> Result<PaymentResult, ClaimError> {
        super::in_time("a paid call", self.engine.pay(request.clone())).await
    }

    /// Pays as a client does: again while the outcome is unknown.
    pub(crate) async fn pay_until_known(&self, request: &PaymentRequest) -> PaymentResult {
        loop {
            match self.pay(request).await {
                Err(ClaimError::OutcomeUnknown(_)) => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
                result => return result.expect("nothing refuses this payment"),
            }
        }
    }

    /// Waits until every job is done.
    pub(crate) async fn wait_until_idle(&self) {
        super::eventually("all effects are done", async || {
            self.engine.open_jobs(1).await.expect("readable").is_empty()
        })
        .await;
    }

    pub(crate) fn cards(&self) -> Vec<(CardId, Card)> {
        let rows = self.store.rows(&table::entity(EntityKind::Card, &[]));
        rows.into_iter()
            .map(|(key, row)| {
                let id = CardId(u128::from_be_bytes(
                    *key.last_chunk().expect("a card's key ends in its id"),
                ));
                (id, codec::decode(&row.value).expect("a card"))
            })
            .collect()
    }

    /// The balance of every ledger account; asserts that each transaction sums to zero.
    pub(crate) fn ledger_balances(&self) -> BTreeMap<LedgerAccount, i128> {
        let mut books = BTreeMap::new();
        for (_, row) in self.store.rows(&[table::LEDGER]) {
            let transaction: LedgerTransaction = codec::decode(&row.value).expect("a transaction");
            let sum: i128 = transaction.postings.iter().map(|p| p.atomic).sum();
            assert_eq!(sum, 0, "every transaction sums to zero: {transaction:?}");
            for posting in transaction.postings {
                *books.entry(posting.account).or_default() += posting.atomic;
            }
        }
        books.retain(|_, balance| *balance != 0);
        books
    }

    /// All events, in order.
    pub(crate) fn history(&self) -> Vec<EventRecord> {
        let events = self.store.all_events();
        events
            .iter()
            .map(|e| EventRecord::read(&e.subject, &e.payload).expect("a record"))
            .collect()
    }

    /// Number of announced events of this type.
    pub(crate) fn event_count(&self, kind: &str) -> usize {
        let history = self.history();
        let announced = history.iter().filter_map(|r| r.announcement.as_ref());
        announced.filter(|a| a.kind == kind).count()
    }

    /// Asserts one payment and one product: on the chain, at the issuer, in the ledger and in the store.
    pub(crate) fn assert_one_card(&self, request: &PaymentRequest) {
        let price = i128::from(request.authorization.value().atomic());
        assert_eq!(self.chain.transfers(), 1, "money moved once");
        assert_eq!(self.issuer.cards(), 1, "the issuer made one card");
        let cards = self.cards();
        assert_eq!(cards.len(), 1, "there is one card");
        assert!(cards[0].1.details().is_some(), "the card is usable: {:?}", cards[0].1);
        assert_eq!(self.event_count("payment.fulfilled"), 1);
        assert_eq!(self.event_count("card.ready"), 1);
        let treasury = LedgerAccount::Treasury(request.authorization.network());
        let books: Vec<_> = self.ledger_balances().into_iter().collect();
        assert_eq!(
            books,
            [
                (treasury, price),
                (LedgerAccount::Provider(LedgerProvider::CardIssuer), -price)
            ]
        );
    }
}

pub(crate) const fn evm(n: u8) -> Wallet {
    Wallet::Evm([n; 20])
}

/// A 5-dollar card, paid by this wallet with its `nonce`th authorization.
pub(crate) fn card_for(payer: Wallet, nonce: u8) -> PaymentRequest {
    let value = Usdc::from_atomic(5_000_000);
    let authorization = match payer {
        Wallet::Evm(from) => Authorization::Evm(EvmAuthorization {
            from,
            to: [9; 20],
            value,
            valid_after: 0,
            valid_before: u64::MAX,
            nonce: [nonce; 32],
            signature: [1; 65].into(),
        }),
        Wallet::Solana(payer) => Authorization::Solana(SolanaTransfer {
            transaction: vec![nonce; 300],
            message_hash: [nonce; 32],
            payer,
            value,
            blockhash: [1; 32],
            not_before_slot: 0,
        }),
    };
    PaymentRequest {
        authorization,
        purchase: Purchase::UsaCard(CardPurchase {
            amount: Cents::new(500),
        }),
        worth: Cents::new(500),
        quoted: None,
        request: [5; 32],
        session: session(),
        challenge: None,
        identifier: None,
    }
}

/// An international card of 100 dollars for 103.80, paid by this wallet with its `nonce`th authorization.
pub(crate) fn intl_card_for(payer: Wallet, nonce: u8) -> PaymentRequest {
    let mut request = card_for(payer, nonce);
    if let Authorization::Evm(signed) = &mut request.authorization {
        signed.value = Usdc::from_atomic(103_800_000);
    }
    let amount = Cents::new(10_000);
    let label = Some("trip".to_owned());
    PaymentRequest {
        purchase: Purchase::IntlCard(IntlCardPurchase { amount, label }),
        worth: amount,
        ..request
    }
}

/// A session with a unique id.
pub(crate) fn session() -> SessionSeed {
    static SESSIONS: AtomicU64 = AtomicU64::new(1);
    SessionSeed {
        id: SessionId(u128::from(SESSIONS.fetch_add(1, Ordering::SeqCst))),
        first: [7; 32],
        life_ms: 1_000_000,
        presented_key: None,
    }
}

/// The card that a call bought.
pub(crate) fn bought_card(paid: &PaymentResult) -> CardId {
    match &paid.outcome {
        Outcome::Fulfilled {
            product: PurchasedProduct::Card(card) | PurchasedProduct::IntlOrder(card),
            ..
        } => *card,
        other => panic!("nothing was bought: {other:?}"),
    }
}

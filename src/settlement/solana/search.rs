//! Search for payments sent by other parties: paid calls of managed wallets, whose fee payer is the seller's. The id of
//! such a transaction is not known before it is on the chain, so the payer's token account is searched for the message.
//! Payments signed by our own fee payers are answered from rows instead.

mod limits;

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{
    ChainStatus, ChainTransactionStatus, OutgoingTransfer, PortError, SolanaTransfer, Timestamp,
};
use purser_chains::solana::address::{associated_token_account, base58};
use purser_chains::solana::follow::{Entry, PAGE_LIMIT, PageRequest};
use purser_chains::solana::lifecycle::{EXPIRY_PROOF_ENDPOINTS, Evidence};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::{Pubkey, Signature};

use super::SolanaSettlement;
use super::lookup::Sighting;
use super::reading::movements_of;
use super::rows::MovementRow;
use crate::errors::temporary;

pub(super) use self::limits::Searches;
use self::limits::{HistoryScan, MAX_READS, PAGES, Page, SearchStart};

/// The result of one endpoint.
enum Found {
    Confirmed(Entry),
    /// The endpoint is past the last block height, its history is complete, and it has no such message.
    Absent,
    Open,
    /// There is more to read.
    LimitReached,
}

/// A search for one payment.
struct Search<'a> {
    message_hash: &'a [u8; 32],
    account: Pubkey,
    last_valid_block_height: u64,
    not_before_slot: u64,
    /// Reads left of [`MAX_READS`].
    reads_left: usize,
}

/// The part of a wallet's history to read.
struct Span {
    since: Timestamp,
    /// Last slot to read.
    until: u64,
    /// Replaces a missing block time. It is the same for every endpoint, so that their lists can be compared.
    now: Timestamp,
}

impl SolanaSettlement {
    pub(super) async fn search(&self, transfer: &SolanaTransfer) -> Result<ChainStatus, PortError> {
        const LOOKUP: &str = "lookup";
        let account = self.token_account_of(&transfer.payer, LOOKUP)?;
        let hash = &transfer.message_hash;
        let begun = self.start_search(transfer)?;
        let SearchStart::Search(foreign) = begun else {
            return Ok(match self.searches.lock().absent(hash) >= EXPIRY_PROOF_ENDPOINTS {
                true => ChainStatus::Impossible,
                false => ChainStatus::Pending,
            });
        };
        let mut search = Search {
            message_hash: hash,
            account,
            last_valid_block_height: foreign.last_valid_block_height,
            not_before_slot: foreign.not_before_slot,
            reads_left: MAX_READS,
        };
        let is_decisive = foreign.is_decisive;
        let (mut absent, mut failure, mut is_cut) = (0, None, false);
        for (endpoint, mut walk) in foreign.scans.into_iter().enumerate() {
            let found = self.search_on(endpoint, &mut search, &mut walk).await;
            self.searches.lock().record_scan(hash, endpoint, walk);
            match found {
                Ok(Found::Confirmed(entry)) => {
                    self.searches.lock().finish(hash, true, false);
                    let shown = self.sighting(endpoint, &entry).await;
                    return Ok(ChainStatus::Confirmed {
                        transaction: base58(&entry.id),
                        finality: self.finality(transfer.value, shown),
                    });
                }
                Ok(Found::Absent) => absent += 1,
                Ok(Found::Open) => {}
                Ok(Found::LimitReached) => is_cut = true,
                Err(error) => failure = Some(error),
            }
        }
        self.searches.lock().finish(hash, false, is_cut);
        match failure {
            _ if absent >= EXPIRY_PROOF_ENDPOINTS => Ok(ChainStatus::Impossible),
            Some(error) => Err(temporary(LOOKUP, error)),
            None if is_cut && is_decisive => Err(temporary(
                LOOKUP,
                "the wallet has more transactions than are read at a time",
            )),
            None => Ok(ChainStatus::Pending),
        }
    }

    /// An endpoint's listing of an entry, combined with what the others show of it.
    async fn sighting(&self, endpoint: usize, entry: &Entry) -> Sighting {
        let mut shown = vec![(entry.slot, entry.level)];
        for other in (0..self.node.endpoints()).filter(|other| *other != endpoint) {
            if shown.len() >= self.witnesses() {
                break;
            }
            let found = self.node.statuses_on(other, &[entry.id], true).await;
            let found = found.ok().and_then(|(_, mut found)| found.pop().flatten());
            let found = found.filter(|found| found.error.is_none() && found.slot == entry.slot);
            shown.extend(found.map(|found| (found.slot, found.level)));
        }
        Sighting::from_endpoints(&shown, self.witnesses()).unwrap_or(Sighting {
            slot: entry.slot,
            level: Commitment::Confirmed,
            shown_by: 1,
        })
    }

    fn start_search(&self, transfer: &SolanaTransfer) -> Result<SearchStart, PortError> {
        let now_ms = self.timer.now_ms();
        let (known, bound) = {
            let tip = self.tip.lock();
            (tip.validity_of(&transfer.blockhash), tip.bound(tip.slot(), now_ms))
        };
        let unread = || temporary("lookup", "no block of the chain was read yet");
        let ends = match known {
            Some(known) => (known.last_valid_block_height, known.not_before_slot),
            // The process has read its blockhash before a restart, or never. Without a lower bound of its own the
            // account's whole history is read.
            None => (bound.ok_or_else(unread)?, transfer.not_before_slot),
        };
        let endpoints = self.node.endpoints();
        let mut searches = self.searches.lock();
        Ok(searches.start(&transfer.message_hash, ends, endpoints, now_ms))
    }

    /// Continues the scan of one endpoint.
    async fn search_on(
        &self,
        endpoint: usize,
        search: &mut Search<'_>,
        walk: &mut HistoryScan,
    ) -> Result<Found, String> {
        let to_text = |error: purser_chains::solana::node::NodeError| error.to_string();
        if walk.is_absent() {
            return Ok(Found::Absent);
        }
        let is_past = match walk.needs_position() {
            true => {
                let position = self.node.position_on(endpoint, Commitment::Finalized).await;
                position.map_err(to_text)?.block_height > search.last_valid_block_height
            }
            false => false,
        };
        walk.start(is_past);
        let not_before_slot = search.not_before_slot;
        for page in 0..PAGES {
            if page > 0 && !self.may_read(search) {
                return Ok(Found::LimitReached);
            }
            let request = PageRequest {
                before: walk.before(),
                until: walk.until(),
                limit: PAGE_LIMIT,
            };
            let entries = self.node.signatures_on(endpoint, &search.account, request).await;
            let entries = entries.map_err(to_text)?;
            for entry in entries.iter().take_while(|entry| entry.slot >= not_before_slot) {
                if !entry.failed {
                    match self.is_payment(endpoint, entry, search).await? {
                        Some(true) => return Ok(Found::Confirmed(*entry)),
                        Some(false) => {}
                        None => return Ok(Found::LimitReached),
                    }
                }
                walk.skip(entry);
            }
            match walk.finish_page(&entries, not_before_slot) {
                Page::More => {}
                Page::Broken | Page::End { proves: false } => return Ok(Found::Open),
                Page::End { proves: true } => {
                    // Read last: a history that was pruned meanwhile proves nothing.
                    let available = self.node.first_available_on(endpoint).await.map_err(to_text)?;
                    walk.finish(available <= not_before_slot);
                    return Ok(if walk.is_absent() { Found::Absent } else { Found::Open });
                }
            }
        }
        Ok(Found::LimitReached)
    }

    /// Whether a transaction is the payment; `None` if no more may be read now.
    async fn is_payment(
        &self,
        endpoint: usize,
        entry: &Entry,
        search: &mut Search<'_>,
    ) -> Result<Option<bool>, String> {
        const MISSING: &str = "a listed transaction is not there";
        let to_text = |error: purser_chains::solana::node::NodeError| error.to_string();
        let (id, hash) = (&entry.id, search.message_hash);
        let known = self.searches.lock().is_payment(id, hash, endpoint);
        if known.is_some() {
            return Ok(known);
        }
        if !self.may_read(search) {
            return Ok(None);
        }
        let (account, level) = (&search.account, Commitment::Confirmed);
        let found = self.node.transaction(id, account, &self.mint, level).await;
        let mut message = found.map_err(to_text)?.ok_or(MISSING)?.message_hash;
        if message.is_none() {
            // Its signature proves nothing: each endpoint's response counts separately.
            let found = self
                .node
                .transaction_on(endpoint, id, (account, &self.mint), level)
                .await;
            message = found.map_err(to_text)?.ok_or(MISSING)?.message_hash;
        }
        self.searches.lock().record_read(id, message, endpoint);
        Ok(Some(message.as_ref() == Some(hash)))
    }

    fn may_read(&self, search: &mut Search<'_>) -> bool {
        let may = search.reads_left > 0 && self.searches.lock().may_read(search.message_hash, self.timer.now_ms());
        if may {
            search.reads_left -= 1;
        }
        may
    }

    /// Whether a transaction without a row is on the chain.
    pub(super) async fn find_unlisted_status(
        &self,
        transfer: &SolanaTransfer,
        id: &Signature,
    ) -> Result<ChainTransactionStatus, PortError> {
        let (mut absent, mut failed, mut shown) = (0, 0, Vec::new());
        for evidence in self.node.evidence_each(id).await {
            match evidence {
                Ok(Evidence::Found { status, .. }) if status.level >= Commitment::Confirmed => match status.error {
                    None => shown.push((status.slot, status.level)),
                    Some(_) => failed += 1,
                },
                Ok(Evidence::Absent(_)) => absent += 1,
                Ok(Evidence::Found { .. }) | Err(_) => {}
            }
        }
        if let Some(sighting) = Sighting::from_endpoints(&shown, self.witnesses()) {
            return Ok(self.finality(transfer.value, sighting).into());
        }
        let gone = absent >= EXPIRY_PROOF_ENDPOINTS || failed >= self.witnesses();
        match gone {
            true => Ok(ChainTransactionStatus::NotFound),
            false => Err(temporary("standing", "too few endpoints answered")),
        }
    }

    /// Final outgoing transfers of a wallet other than the treasury, oldest first. They are read from the chain. If
    /// there are two endpoints, both must show the same.
    pub(super) async fn outgoing_from_wallet(
        &self,
        from: &Pubkey,
        since: Timestamp,
    ) -> Result<Vec<OutgoingTransfer>, PortError> {
        const SENT: &str = "sent by";
        let account = self.token_account_of(from, SENT)?;
        let until = self.shared_finalized().await.map_err(|e| temporary(SENT, e))?;
        let span = Span {
            since,
            until,
            now: self.clock.now(),
        };
        let (mut lists, mut failure): (Vec<Vec<MovementRow>>, _) = (Vec::new(), None);
        for endpoint in 0..self.node.endpoints() {
            match self.outgoing_on(endpoint, &account, &span).await {
                Ok(list) if !self.is_cross_checking() || lists.contains(&list) => {
                    return Ok(list.iter().map(outgoing_transfer).collect());
                }
                Ok(list) => lists.push(list),
                Err(error) => failure = Some(error),
            }
        }
        let differ = || "endpoints show different transfers of the wallet".to_owned();
        Err(temporary(SENT, failure.unwrap_or_else(differ)))
    }

    /// The same transfers as one endpoint shows them, up to a slot.
    async fn outgoing_on(&self, endpoint: usize, account: &Pubkey, span: &Span) -> Result<Vec<MovementRow>, String> {
        let to_text = |error: purser_chains::solana::node::NodeError| error.to_string();
        let history = self.node.history_on(endpoint).await.map_err(to_text)?;
        if history.finalized_slot < span.until {
            return Err("an endpoint is behind".to_owned());
        }
        let (mut before, mut left) = (None, Vec::new());
        loop {
            let page = PageRequest {
                before,
                until: None,
                limit: PAGE_LIMIT,
            };
            let entries = self
                .node
                .signatures_on(endpoint, account, page)
                .await
                .map_err(to_text)?;
            for entry in entries.iter().filter(|entry| !entry.failed && entry.slot <= span.until) {
                let found = self
                    .node
                    .transaction_on(endpoint, &entry.id, (account, &self.mint), Commitment::Finalized)
                    .await;
                let found = found.map_err(to_text)?.ok_or("a listed transaction is not there")?;
                let moved = movements_of(&found, span.now, &self.mint);
                if moved.first().is_some_and(|first| first.at < span.since) {
                    left.reverse();
                    return Ok(left);
                }
                left.extend(moved.into_iter().rev().filter(|moved| !moved.incoming));
            }
            let Some(last) = entries.last() else {
                left.reverse();
                return Ok(left);
            };
            before = Some(last.id);
        }
    }

    pub(super) fn token_account_of(&self, owner: &Pubkey, operation: &'static str) -> Result<Pubkey, PortError> {
        associated_token_account(owner, &self.mint)
            .ok_or_else(|| temporary(operation, "the wallet's token account cannot be derived"))
    }
}

/// Converts a row to the engine's type.
pub(super) fn outgoing_transfer(moved: &MovementRow) -> OutgoingTransfer {
    OutgoingTransfer {
        transaction: base58(&moved.transaction),
        to: Wallet::Solana(moved.other),
        amount: Usdc::from_atomic(moved.atomic),
        at: moved.at,
        fingerprint: moved.mark,
        index: moved.index,
    }
}

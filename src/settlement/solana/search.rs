//! Payments that somebody else sends: paid calls of managed wallets, whose fee payer is the seller's. Their transaction's id
//! is not known before they are on the chain, so the payer's token account is searched for the message. The exception: what
//! our own fee payers sign is answered from rows.

use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{ChainStanding, Departure, Lookup, PortError, SolanaTransfer, Timestamp};
use purser_chains::solana::address::{associated_token_account, base58};
use purser_chains::solana::follow::{Entry, PAGE_LIMIT, PageRequest};
use purser_chains::solana::life::{EXPIRY_PROOF_ENDPOINTS, Evidence};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::{Pubkey, Signature};

use super::SolanaSettlement;
use super::decline::temporary;
use super::lookup::Sighting;
use super::reading::movements_of;
use super::rows::Moved;

/// Between two searches for the same payment, in milliseconds.
const SEARCH_MS: u64 = 3_000;
/// Pages of signatures that are read for one search.
const PAGES: usize = 5;
/// Payments that are remembered while they are searched for.
const REMEMBERED: usize = 10_000;

/// What is remembered of a payment that somebody else sends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Foreign {
    last_valid_block_height: u64,
    not_before_slot: u64,
    next_ms: u64,
}

/// What one endpoint shows.
enum Found {
    Landed(Entry),
    /// It is past the last block height, its history is complete, and it has no such message.
    Absent,
    Open,
}

/// What of a wallet's history is read.
struct Span {
    since: Timestamp,
    /// The last slot.
    until: u64,
    /// Stands in for a block time that is missing: the same for every endpoint, so that their lists can be compared.
    now: Timestamp,
}

impl SolanaSettlement {
    pub(super) async fn search(&self, transfer: &SolanaTransfer) -> Result<Lookup, PortError> {
        const LOOKUP: &str = "lookup";
        let account = self.token_account_of(&transfer.payer, LOOKUP)?;
        let Some(foreign) = self.remembered(transfer)? else {
            return Ok(Lookup::Pending);
        };
        let (mut absent, mut failure) = (0, None);
        for endpoint in 0..self.node.endpoints() {
            match self
                .search_on(endpoint, &account, (&transfer.message_hash, foreign))
                .await
            {
                Ok(Found::Landed(entry)) => {
                    let shown = self.sighting(endpoint, &entry).await;
                    return Ok(Lookup::Landed {
                        transaction: base58(&entry.id),
                        finality: self.finality(transfer.value, shown),
                    });
                }
                Ok(Found::Absent) => absent += 1,
                Ok(Found::Open) => {}
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            _ if absent >= EXPIRY_PROOF_ENDPOINTS => Ok(Lookup::Impossible),
            Some(error) => Err(temporary(LOOKUP, error)),
            None => Ok(Lookup::Pending),
        }
    }

    /// What one endpoint lists and the others know of it.
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
        Sighting::of(&shown, self.witnesses()).unwrap_or(Sighting {
            slot: entry.slot,
            level: Commitment::Confirmed,
            shown_by: 1,
        })
    }

    /// `None` if it was searched for a moment ago.
    fn remembered(&self, transfer: &SolanaTransfer) -> Result<Option<Foreign>, PortError> {
        let now_ms = self.timer.now_ms();
        let (known, bound) = {
            let tip = self.tip.lock();
            (tip.of(&transfer.blockhash), tip.bound(tip.slot(), now_ms))
        };
        let unread = || temporary("lookup", "no block of the chain was read yet");
        let fresh = match known {
            Some(known) => (known.last_valid_block_height, known.not_before_slot),
            // Nothing says since when it can be on the chain: all of the account's history counts.
            None => (bound.ok_or_else(unread)?, 0),
        };
        let mut all = self.foreign.lock();
        if all.len() >= REMEMBERED {
            all.retain(|_, foreign| foreign.next_ms.saturating_add(60_000) > now_ms);
        }
        let foreign = all.entry(transfer.message_hash).or_insert(Foreign {
            last_valid_block_height: fresh.0,
            not_before_slot: fresh.1,
            next_ms: 0,
        });
        if now_ms < foreign.next_ms {
            return Ok(None);
        }
        foreign.next_ms = now_ms.saturating_add(SEARCH_MS);
        Ok(Some(*foreign))
    }

    async fn search_on(
        &self,
        endpoint: usize,
        account: &Pubkey,
        (message_hash, foreign): (&[u8; 32], Foreign),
    ) -> Result<Found, String> {
        let told = |error: purser_chains::solana::node::NodeError| error.to_string();
        let history = self.node.history_on(endpoint).await.map_err(told)?;
        let position = self
            .node
            .position_on(endpoint, Commitment::Finalized)
            .await
            .map_err(told)?;
        let mut before = None;
        for _ in 0..PAGES {
            let page = PageRequest {
                before,
                until: None,
                limit: PAGE_LIMIT,
            };
            let entries = self.node.signatures_on(endpoint, account, page).await.map_err(told)?;
            for entry in entries.iter().take_while(|entry| entry.slot >= foreign.not_before_slot) {
                if entry.failed {
                    continue;
                }
                let found = self
                    .node
                    .transaction(&entry.id, account, &self.mint, Commitment::Confirmed)
                    .await;
                let found = found.map_err(told)?.ok_or("a listed transaction is not there")?;
                if found.message_hash.as_ref() == Some(message_hash) {
                    return Ok(Found::Landed(*entry));
                }
            }
            let complete = entries.last().is_none_or(|entry| entry.slot < foreign.not_before_slot);
            if complete {
                let past = position.block_height > foreign.last_valid_block_height;
                let kept = history.first_available_slot <= foreign.not_before_slot;
                return Ok(if past && kept { Found::Absent } else { Found::Open });
            }
            before = entries.last().map(|entry| entry.id);
        }
        Err("the account has too many transactions to be searched".into())
    }

    /// Whether a transaction that no row knows is on the chain.
    pub(super) async fn stands_elsewhere(
        &self,
        transfer: &SolanaTransfer,
        id: &Signature,
    ) -> Result<ChainStanding, PortError> {
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
        if let Some(sighting) = Sighting::of(&shown, self.witnesses()) {
            return Ok(self.finality(transfer.value, sighting).into());
        }
        let gone = absent >= EXPIRY_PROOF_ENDPOINTS || failed >= self.witnesses();
        match gone {
            true => Ok(ChainStanding::Gone),
            false => Err(temporary("standing", "too few endpoints answered")),
        }
    }

    /// What left a wallet that is not the treasury, final, oldest first: read from the chain, alike from two endpoints where there
    /// are two.
    pub(super) async fn sent_by_other(&self, from: &Pubkey, since: Timestamp) -> Result<Vec<Departure>, PortError> {
        const SENT: &str = "sent by";
        let account = self.token_account_of(from, SENT)?;
        let until = self.shared_finalized().await.map_err(|e| temporary(SENT, e))?;
        let span = Span {
            since,
            until,
            now: self.clock.now(),
        };
        let (mut lists, mut failure): (Vec<Vec<Moved>>, _) = (Vec::new(), None);
        for endpoint in 0..self.node.endpoints() {
            match self.left_on(endpoint, &account, &span).await {
                Ok(list) if !self.is_cross_checking() || lists.contains(&list) => {
                    return Ok(list.iter().map(departure).collect());
                }
                Ok(list) => lists.push(list),
                Err(error) => failure = Some(error),
            }
        }
        let differ = || "endpoints show different transfers of the wallet".to_owned();
        Err(temporary(SENT, failure.unwrap_or_else(differ)))
    }

    /// The same as one endpoint shows it, up to a slot.
    async fn left_on(&self, endpoint: usize, account: &Pubkey, span: &Span) -> Result<Vec<Moved>, String> {
        let told = |error: purser_chains::solana::node::NodeError| error.to_string();
        let history = self.node.history_on(endpoint).await.map_err(told)?;
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
            let entries = self.node.signatures_on(endpoint, account, page).await.map_err(told)?;
            for entry in entries.iter().filter(|entry| !entry.failed && entry.slot <= span.until) {
                let found = self
                    .node
                    .transaction_on(endpoint, &entry.id, (account, &self.mint), Commitment::Finalized)
                    .await;
                let found = found.map_err(told)?.ok_or("a listed transaction is not there")?;
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

/// A movement out, as the engine's list of departures has it.
pub(super) fn departure(moved: &Moved) -> Departure {
    Departure {
        transaction: base58(&moved.transaction),
        to: Wallet::Solana(moved.other),
        amount: Usdc::from_atomic(moved.atomic),
        at: moved.at,
        mark: moved.mark,
        index: moved.index,
    }
}

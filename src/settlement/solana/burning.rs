//! Burns of treasury funds into the bridge: signed here, then prepared, sent and proved like a payment. Each burn
//! leaves an account on the chain whose rent a fee payer has paid. The account has a row, so that its rent can be
//! reclaimed.

use purser_actors::money::Usdc;
use purser_actors::port::{ErrorKind, PortError, Preparation, SolanaTransfer, Timestamp};
use purser_chains::cctp::burn::{BurnOrder, EVENT_ACCOUNT_BYTES, SentBurn};
use purser_chains::solana::address::base58;
use purser_chains::solana::draft::Draft;
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::{Message, Version};
use purser_chains::solana::token::{set_compute_unit_limit, set_compute_unit_price};
use purser_chains::solana::transaction::{Transaction, sign_partially};
use purser_chains::solana::{Pubkey, Signature};
use purser_storage::Write;
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use super::rows::{self, End, EventRow};
use crate::errors::{error, temporary};

/// Compute units of a burn, about twice the cost of `deposit_for_burn`.
const UNITS: u32 = 250_000;
/// A blockhash older than this is not used for signing, in milliseconds: less than half of its validity is left.
const MAX_BLOCKHASH_AGE_MS: u64 = 25_000;

/// An account that a burn left on the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventAccount {
    /// Transaction of the burn.
    pub transaction: String,
    /// Address of the account.
    pub account: Pubkey,
    /// The fee payer that paid its rent and can be repaid.
    pub rent_payer: Pubkey,
    /// The rent in lamports.
    pub lamports: u64,
    /// When the burn was signed.
    pub at: Timestamp,
}

/// The burn in a transaction: a payment of the treasury, and the burned amount. `None` if the bytes are not such a
/// transaction.
pub fn read_burn(bytes: &[u8]) -> Option<(SolanaTransfer, SentBurn)> {
    let transaction = Transaction::parse_without_tables(bytes).ok()?;
    let sent = SentBurn::from_message(&transaction.message)?;
    let transfer = SolanaTransfer {
        message_hash: Sha256::digest(transaction.message_bytes).into(),
        payer: sent.order.owner,
        value: Usdc::from_atomic(sent.order.amount),
        blockhash: *transaction.message.blockhash,
        not_before_slot: 0,
        transaction: bytes.to_vec(),
    };
    Some((transfer, sent))
}

impl SolanaSettlement {
    /// The mint of the treasury's token.
    pub const fn mint(&self) -> Pubkey {
        self.mint
    }

    /// Signs a burn of treasury funds and persists it. Sends nothing: call [`purser_actors::port::Settlement::submit`]
    /// with the transfer of [`read_burn`]. `event_key` must be a new key for every burn. `Ready` contains the whole
    /// transaction.
    ///
    /// # Errors
    /// `Temporary` when no fee payer or recent blockhash is known or the chain cannot be read. `Permanent` for an order
    /// from which no transaction can be made.
    pub async fn prepare_burn(&self, order: &BurnOrder, event_key: &Keypair) -> Result<Preparation, PortError> {
        const SIGN: &str = "sign burn";
        let refused = |message: &str| error(ErrorKind::Permanent, SIGN, message);
        if order.owner != self.treasury() || order.mint != self.mint {
            return Err(refused("not a burn of the treasury's"));
        }
        let recent = self.recent_blockhash();
        let fresh = recent.filter(|(_, age_ms)| *age_ms <= MAX_BLOCKHASH_AGE_MS);
        let (blockhash, _) = fresh.ok_or_else(|| temporary(SIGN, "no recent blockhash is known"))?;
        let fee_payer = self.choose_fee_payer();
        let fee_payer = fee_payer.ok_or_else(|| temporary(SIGN, "every fee payer is below its floor"))?;
        let burn = order.instruction(&fee_payer, &event_key.address());
        let draft = Draft {
            fee_payer,
            blockhash: blockhash.hash,
            instructions: vec![
                set_compute_unit_limit(UNITS),
                set_compute_unit_price(self.withdrawal_unit_price),
                burn.ok_or_else(|| refused("an address of the burn cannot be derived"))?,
            ],
            version: Version::V0,
        };
        let signed = sign_partially(&draft, &[&self.treasury, event_key]);
        let signed = signed.map_err(|e| refused(&e.to_string()))?;
        let (transfer, _) = read_burn(&signed).ok_or_else(|| refused("the draft does not read as a burn"))?;
        self.prepare_transfer(&transfer).await
    }

    /// The burn in a message of the treasury, and the rent of its account; `None` for other messages.
    pub(super) async fn find_burn_in(&self, message: &Message<'_>) -> Result<Option<(SentBurn, u64)>, PortError> {
        let Some(sent) = SentBurn::from_message(message) else {
            return Ok(None);
        };
        let rent = self.node.rent_exemption(EVENT_ACCOUNT_BYTES).await;
        let rent = rent.map_err(|e| temporary("prepare", e))?;
        Ok(Some((sent, rent)))
    }

    /// The write that stores the account of a burn.
    pub(super) fn event_write(&self, id: &Signature, (sent, lamports): &(SentBurn, u64)) -> Write {
        let row = EventRow {
            account: sent.event_account,
            rent_payer: sent.rent_payer,
            lamports: *lamports,
            at: self.clock.now(),
        };
        let (transaction, account) = (base58(id), base58(&row.account));
        tracing::info!(
            transaction,
            account,
            lamports,
            "a burn pays rent for the account of its message"
        );
        rows::event(id, &row)
    }

    /// Accounts of executed burns whose rent was not reclaimed.
    ///
    /// # Errors
    /// `Temporary` when the rows cannot be read.
    pub async fn event_accounts(&self) -> Result<Vec<EventAccount>, PortError> {
        let to_error = |e| temporary("event accounts", e);
        let mut landed = Vec::new();
        for (id, row) in self.rows.events().await.map_err(to_error)? {
            let closed = self.rows.closed(&id).await.map_err(to_error)?;
            if closed.is_some_and(|closed| closed.end == End::Confirmed) {
                landed.push(EventAccount {
                    transaction: base58(&id),
                    account: row.account,
                    rent_payer: row.rent_payer,
                    lamports: row.lamports,
                    at: row.at,
                });
            }
        }
        Ok(landed)
    }
}

//! The parts of the port that facilitators need: checking, signing and finding payments that another party co-signs and
//! sends.
//!
//! The id of such a transaction is the facilitator's signature. An id named by the facilitator is checked against the
//! message and looked up. Without an id, the payer's token account is searched.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use purser_actors::id::Wallet;
use purser_actors::port::{
    Authorization, ChainStatus, Decline, ErrorKind, OutgoingTransferRequest, PortError, PortFuture,
    PreparedTransaction, Settlement as _, SolanaTransfer, Timestamp,
};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::parse_base58;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::PaymentInstruction;
use purser_chains::solana::transaction::{Transaction, verify};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use super::decline::simulated;
use crate::errors::{error, temporary};
use crate::facilitator::{ChainReader, LookupDepth, Presented, solana_body};
use crate::gate::Gate;

/// How long a payment counts as able to settle, in milliseconds: many times the validity of a blockhash.
const VALIDITY_MS: u64 = 3_600_000;

fn transfer<'a>(authorization: &'a Authorization, operation: &'static str) -> Result<&'a SolanaTransfer, PortError> {
    match authorization {
        Authorization::Solana(transfer) => Ok(transfer),
        Authorization::Evm(_) => Err(error(ErrorKind::Permanent, operation, "not a payment on Solana")),
    }
}

fn named(transaction: &str) -> PreparedTransaction {
    PreparedTransaction {
        bytes: Vec::new(),
        transaction: transaction.to_owned(),
    }
}

/// The fee payer is key 0 of the message.
fn fee_payer(transfer: &SolanaTransfer) -> Option<Pubkey> {
    let transaction = Transaction::parse_without_tables(&transfer.transaction).ok()?;
    transaction.message.keys.first().copied()
}

/// The token account that the transaction pays.
fn paid_account(transaction: &Transaction<'_>) -> Option<Pubkey> {
    let message = &transaction.message;
    message.instructions.iter().find_map(|call| {
        let (program, accounts) = (message.program(call)?, message.accounts(call)?);
        match PaymentInstruction::decode(program, &accounts, call.data)? {
            PaymentInstruction::Transfer(transfer) => Some(transfer.destination),
            _ => None,
        }
    })
}

impl SolanaSettlement {
    /// Checks a payment like `prepare`, without a signature of the fee payer and without a reservation.
    async fn simulate_unsigned(&self, transfer: &SolanaTransfer) -> Result<Option<Decline>, PortError> {
        const JUDGE: &str = "prepare";
        let permanent = |message: String| error(ErrorKind::Permanent, JUDGE, message);
        let transaction = Transaction::parse_without_tables(&transfer.transaction);
        let transaction = transaction.map_err(|e| permanent(e.to_string()))?;
        if Sha256::digest(transaction.message_bytes)[..] != transfer.message_hash {
            return Err(permanent("the message hash is not the transaction's".to_owned()));
        }
        if transaction.message.names_fee_payer() {
            return Err(permanent("the fee payer may not appear in an instruction".to_owned()));
        }
        self.require_up_to_date(JUDGE)?;
        let shown = self
            .node
            .simulate_unsigned(&transfer.transaction, None, Commitment::Processed)
            .await;
        let error = shown.map_err(|e| temporary(JUDGE, e))?.error;
        // It was already sent: the chain shows it.
        let error = error.filter(|error| !error.is_already_processed());
        Ok(error.map(|error| simulated(&error)))
    }

    /// Owner of the token account that a payment goes to.
    async fn paid_owner(&self, transfer: &SolanaTransfer) -> Result<Pubkey, PortError> {
        const PRESENT: &str = "present";
        let permanent = |message: &str| error(ErrorKind::Permanent, PRESENT, message);
        let transaction = Transaction::parse_without_tables(&transfer.transaction);
        let transaction = transaction.map_err(|e| permanent(&e.to_string()))?;
        let account = paid_account(&transaction).ok_or_else(|| permanent("the transaction pays no token account"))?;
        if account == self.treasury_account {
            return Ok(self.treasury());
        }
        // A transfer of our own: it does not name the owner.
        let state = self.node.token_account(&account, Commitment::Confirmed).await;
        let state = state.map_err(|e| temporary(PRESENT, e))?;
        state
            .map(|state| state.owner)
            .ok_or_else(|| temporary(PRESENT, "the token account that is paid is not there"))
    }

    /// Looks up the named transaction, otherwise the payer's token account. A proof needs both: the facilitator may
    /// have signed the same message twice.
    async fn find_transfer(
        &self,
        transfer: &SolanaTransfer,
        transaction: Option<&str>,
    ) -> Result<ChainStatus, PortError> {
        let Some(transaction) = transaction else {
            return self.lookup_transfer(transfer, None).await;
        };
        match self.lookup_transfer(transfer, Some(&named(transaction))).await? {
            ChainStatus::Impossible => self.lookup_transfer(transfer, None).await,
            found => Ok(found),
        }
    }
}

impl ChainReader for SolanaSettlement {
    fn can_send_with_own_keys(&self, authorization: &Authorization) -> bool {
        let key = transfer(authorization, "sends").ok().and_then(fee_payer);
        key.is_some_and(|key| self.fee_payers().contains(&key))
    }

    fn gate(&self) -> &Gate {
        Self::gate(self)
    }

    fn has_own_keys(&self) -> bool {
        !self.fee_payers().is_empty()
    }

    fn would_decline<'a>(&'a self, authorization: &'a Authorization) -> PortFuture<'a, Option<Decline>> {
        Box::pin(async move {
            const PREPARE: &str = "prepare";
            let transfer = transfer(authorization, PREPARE)?;
            let fee_payer = fee_payer(transfer);
            let fee_payer = fee_payer.filter(|key| !self.fee_payer_addresses.contains(key));
            // Stored before the facilitator has the payment: the follower may read the transaction before the response
            // arrives.
            if let Some(fee_payer) = fee_payer.filter(|key| !self.facilitator_fee_payers.contains(key)) {
                let kept = self.rows.persist_fee_payer(&fee_payer).await;
                kept.map_err(|e| temporary(PREPARE, e))?;
                self.facilitator_fee_payers.insert(fee_payer);
            }
            self.simulate_unsigned(transfer).await
        })
    }

    fn request_body<'a>(&'a self, authorization: &'a Authorization, chain: &'a Presented) -> PortFuture<'a, Value> {
        Box::pin(async move {
            const PRESENT: &str = "present";
            let transfer = transfer(authorization, PRESENT)?;
            let refused = |message| error(ErrorKind::Permanent, PRESENT, message);
            let Presented::Solana(chain) = chain else {
                return Err(refused("not a payment of this chain"));
            };
            let fee_payer = fee_payer(transfer).ok_or_else(|| refused("not a transaction"))?;
            let owner = self.paid_owner(transfer).await?;
            let wire = STANDARD.encode(&transfer.transaction);
            Ok(solana_body(chain, (&owner, &fee_payer), transfer.value.atomic(), &wire))
        })
    }

    fn fee_payer(&self, authorization: &Authorization) -> Option<Pubkey> {
        // A payment without a fee payer belongs to no facilitator.
        Some(
            transfer(authorization, "fee payer")
                .ok()
                .and_then(fee_payer)
                .unwrap_or_default(),
        )
    }

    fn matches_payment(&self, authorization: &Authorization, transaction: &str) -> bool {
        let (Ok(transfer), Some(id)) = (transfer(authorization, "named"), parse_base58(transaction)) else {
            return false;
        };
        let Ok(parsed) = Transaction::parse_without_tables(&transfer.transaction) else {
            return false;
        };
        // The id of a transaction is its first signature.
        let signer = parsed.message.keys.first();
        signer.is_some_and(|signer| verify(signer, parsed.message_bytes, &id))
    }

    fn expires_at(&self, _: &Authorization) -> Timestamp {
        self.clock.now().plus_ms(VALIDITY_MS)
    }

    fn chain_status<'a>(
        &'a self,
        authorization: &'a Authorization,
        transaction: Option<&'a str>,
        how: LookupDepth,
    ) -> PortFuture<'a, ChainStatus> {
        Box::pin(async move {
            // Without a transaction, only the chain shows the status.
            if (how, transaction) == (LookupDepth::Known, None) {
                return Ok(ChainStatus::Pending);
            }
            let transfer = transfer(authorization, "lookup")?;
            if how == LookupDepth::Newest {
                self.searches.lock().expedite(&transfer.message_hash);
            }
            self.find_transfer(transfer, transaction).await
        })
    }

    fn sign_for<'a>(
        &'a self,
        transfer: &'a OutgoingTransferRequest,
        fee_payer: Option<Pubkey>,
    ) -> PortFuture<'a, Authorization> {
        Box::pin(async move {
            match (self.choose_fee_payer(), fee_payer) {
                (None, Some(fee_payer)) => self.sign_with(transfer, fee_payer, false).await,
                _ => self.sign(transfer).await,
            }
        })
    }

    fn can_receive_from_facilitator<'a>(&'a self, to: &'a Wallet) -> PortFuture<'a, bool> {
        Box::pin(self.owner_has_account(to))
    }
}

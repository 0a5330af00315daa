//! Prepares a signed payment: it is checked, simulated and persisted before it may be sent.

use purser_actors::port::{Decline, ErrorKind, PortError, Preparation, PreparedTransaction, SolanaTransfer};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::base58;
use purser_chains::solana::fees::{Fees, fees_for};
use purser_chains::solana::keypair::Keypair;
use purser_chains::solana::message::Message;
use purser_chains::solana::payers::{FeeOutcome, FeeReservation, PayerError};
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::PaymentInstruction;
use purser_chains::solana::transaction::{Signed, Transaction, co_sign};
use purser_storage::Write;
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use super::decline::{insufficient_with_pending, is_fee_payer_error, not_accepted, simulated};
use super::in_flight::{PaymentDebit, RemainingBalance};
use super::prechecking::{remaining_balance, too_many_failures};
use super::rows::Open;
use super::tip::Validity;
use crate::errors::{error, temporary};

const PREPARE: &str = "prepare";

/// The result of a simulation.
enum Simulated {
    /// It would execute, or has executed. The state existed at this slot at the latest.
    Passed(RemainingBalance),
    Declined(Decline),
}

fn permanent(message: impl ToString) -> PortError {
    error(ErrorKind::Permanent, PREPARE, message)
}

impl SolanaSettlement {
    /// See [`purser_actors::port::Settlement::prepare`]. Repeated calls return the same bytes: signatures are
    /// deterministic.
    pub(super) async fn prepare_transfer(&self, transfer: &SolanaTransfer) -> Result<Preparation, PortError> {
        let transaction = Transaction::parse_without_tables(&transfer.transaction).map_err(permanent)?;
        let message = &transaction.message;
        let key = self
            .fee_payer_of(message)
            .ok_or_else(|| permanent("the fee payer does not belong to the service"))?;
        if Sha256::digest(transaction.message_bytes)[..] != transfer.message_hash {
            return Err(permanent("the message hash is not the transaction's"));
        }
        let own = transfer.payer == self.treasury();
        // Our fee payer signs a transaction built by another party: it must authorise nothing in it except the fee.
        if message.names_fee_payer() && !own {
            return Err(permanent("the fee payer may not appear in an instruction"));
        }
        let mut fees = fees_for(message).map_err(permanent)?;
        if creates_account(message) {
            if !own {
                return Err(permanent("only withdrawals create token accounts"));
            }
            fees.rent = self.account_rent(PREPARE).await?;
        }
        let burn = match own {
            true => self.find_burn_in(message).await?,
            false => None,
        };
        if let Some((_, rent)) = &burn {
            fees.rent = *rent;
        }
        let now_ms = self.clock.now().0;
        let declined_for = self.losses.lock().declined_for_ms(&transfer.payer, now_ms);
        if let Some(ms) = declined_for.filter(|_| !own) {
            return Ok(Preparation::Declined(too_many_failures(ms)));
        }
        let signed = co_sign(&transfer.transaction, key).map_err(permanent)?;
        let prepared = PreparedTransaction {
            transaction: base58(&signed.id),
            bytes: signed.bytes.clone(),
        };
        // A transaction prepared before may be in flight: it is not checked again.
        if self.is_known(&signed.id).await? {
            return Ok(Preparation::Ready(prepared));
        }
        self.require_up_to_date(PREPARE)?;
        let reservation = match self.reserve(&key.address(), fees) {
            Ok(reservation) => reservation,
            Err(PayerError::PriorityFee { lamports, cap }) => {
                let message = format!("the priority fee of {lamports} lamports is above {cap}");
                return Ok(Preparation::Declined(not_accepted(&message)));
            }
            Err(refused) => return Err(temporary(PREPARE, refused)),
        };
        let event = burn.map(|burn| self.event_write(&signed.id, &burn));
        self.simulate_and_persist(transfer, (&signed, reservation), (prepared, event))
            .await
    }

    async fn simulate_and_persist(
        &self,
        transfer: &SolanaTransfer,
        (signed, reservation): (&Signed, Reserved<'_>),
        (prepared, with): (PreparedTransaction, Option<Write>),
    ) -> Result<Preparation, PortError> {
        // Simulated some seconds ago, before the claim. The result is used once: a payment that is prepared again is
        // simulated again.
        let known = self.prechecks.take_passed(&transfer.message_hash, self.timer.now_ms());
        let taking = self.debit_for(transfer);
        let shown = match known {
            Some(left) => Simulated::Passed(left),
            None => self.simulate(transfer, taking.as_ref()).await?,
        };
        let left = match shown {
            Simulated::Passed(left) => left,
            Simulated::Declined(decline) => return Ok(Preparation::Declined(decline)),
        };
        if !self.has_funds(taking, left).await {
            return Ok(Preparation::Declined(insufficient_with_pending()));
        }
        let validity = self.validity(&transfer.blockhash, left.slot);
        let validity = validity.ok_or_else(|| temporary(PREPARE, "no block of the chain was read yet"))?;
        let Fees { base, priority, rent } = reservation.fees();
        let open = Open {
            bytes: signed.bytes.clone(),
            payer: transfer.payer,
            fee_payer: reservation.payer(),
            last_valid_block_height: validity.last_valid_block_height,
            not_before_slot: validity.not_before_slot,
            fees: [base, priority, rent],
            at: self.clock.now(),
        };
        // Persisted before it can be sent.
        self.rows
            .prepare(&signed.id, &open, with)
            .await
            .map_err(|e| temporary(PREPARE, e))?;
        let unused = self
            .in_flight
            .lock()
            .start(signed.id, open, false, reservation.into_reservation());
        if let Some(unused) = unused {
            self.payers.lock().settle(unused, FeeOutcome::Unused);
        }
        Ok(Preparation::Ready(prepared))
    }

    /// Our key that the transaction names as fee payer.
    pub(super) fn fee_payer_of(&self, message: &Message<'_>) -> Option<&Keypair> {
        let first = message.keys.first()?;
        self.fee_payers.iter().find(|key| key.address() == *first)
    }

    /// Whether this transaction has rows, because the port sent it or read it.
    async fn is_known(&self, id: &[u8; 64]) -> Result<bool, PortError> {
        if self.in_flight.lock().has_bytes(id) {
            return Ok(true);
        }
        let to_error = |e| temporary(PREPARE, e);
        Ok(self.rows.closed(id).await.map_err(to_error)?.is_some()
            || self.rows.final_one(id).await.map_err(to_error)?.is_some())
    }

    async fn simulate(&self, transfer: &SolanaTransfer, taking: Option<&PaymentDebit>) -> Result<Simulated, PortError> {
        let source = taking.map(|taking| &taking.source);
        self.prechecks.counters.record_read();
        let bytes = &transfer.transaction;
        let shown = self.node.simulate_unsigned(bytes, source, Commitment::Processed);
        let shown = shown.await.map_err(|e| temporary(PREPARE, e))?;
        let left = remaining_balance(&shown);
        match shown.error {
            None => Ok(Simulated::Passed(left)),
            // Sent before a restore that lost its row: the chain shows it, and it debits nothing more.
            Some(error) if error.is_already_processed() => {
                Ok(Simulated::Passed(RemainingBalance { atomic: None, ..left }))
            }
            Some(error) if is_fee_payer_error(&error) => {
                tracing::error!(error = error.text, "a fee payer cannot pay: fund it");
                Err(temporary(PREPARE, "the fee payer has too little SOL"))
            }
            // A node that looks up only the first signature does not find it and would execute it once more.
            Some(_) if self.is_on_chain(transfer).await => {
                Ok(Simulated::Passed(RemainingBalance { atomic: None, ..left }))
            }
            Some(error) => Ok(Simulated::Declined(simulated(&error))),
        }
    }

    /// How long a transaction can execute if its blockhash was valid at this slot. `None` before the first block was
    /// read.
    pub(super) fn validity(&self, blockhash: &[u8; 32], slot: u64) -> Option<Validity> {
        let tip = self.tip.lock();
        let covered = self.treasury_history.lock().covered_slot();
        tip.validity_of(blockhash).or_else(|| {
            Some(Validity {
                last_valid_block_height: tip.bound(slot, self.timer.now_ms())?,
                // The follower has not read such a transaction, otherwise it would be known.
                not_before_slot: covered,
            })
        })
    }

    fn reserve(&self, payer: &Pubkey, fees: Fees) -> Result<Reserved<'_>, PayerError> {
        let reservation = self.payers.lock().reserve(payer, fees)?;
        Ok(Reserved {
            port: self,
            reservation: Some(reservation),
        })
    }
}

fn creates_account(message: &Message<'_>) -> bool {
    message.instructions.iter().any(|call| {
        let (Some(program), Some(accounts)) = (message.program(call), message.accounts(call)) else {
            return false;
        };
        let call = PaymentInstruction::decode(program, &accounts, call.data);
        matches!(call, Some(PaymentInstruction::CreateAccount { .. }))
    })
}

/// A reservation that is released unless it is committed: the future may be dropped at any await.
struct Reserved<'a> {
    port: &'a SolanaSettlement,
    reservation: Option<FeeReservation>,
}

impl Reserved<'_> {
    fn payer(&self) -> Pubkey {
        self.reservation
            .as_ref()
            .map_or([0; 32], |reservation| reservation.payer)
    }

    fn fees(&self) -> Fees {
        let none = Fees {
            base: 0,
            priority: 0,
            rent: 0,
        };
        self.reservation.as_ref().map_or(none, |reservation| reservation.fees)
    }

    fn into_reservation(mut self) -> Option<FeeReservation> {
        self.reservation.take()
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            self.port.payers.lock().settle(reservation, FeeOutcome::Unused);
        }
    }
}

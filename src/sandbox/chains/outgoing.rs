//! Transfers out of the sandbox's treasury, signed with its published keys like any payer's.

use purser_actors::port::{Authorization, ErrorKind, OutgoingTransferRequest, PortError};

use super::SandboxSettlement;
use super::svm::{BLOCKHASH_VALIDITY_SLOTS, FINALIZED, SLOT_MS};
use crate::keys::treasury_wallet;
use purser_protocol::wallet::MAX_SIGNED_VALIDITY_S;
use purser_settlement::outgoing::{SigningContext, VALIDITY_S, sign_transfer};

// On Solana a block hash is valid for about a minute and can never become valid again 32 slots later.
const _: () = {
    let on_solana = (BLOCKHASH_VALIDITY_SLOTS + FINALIZED) * SLOT_MS / 1_000 + 1;
    assert!(on_solana <= MAX_SIGNED_VALIDITY_S as u64 && VALIDITY_S <= MAX_SIGNED_VALIDITY_S as u64);
};

impl SandboxSettlement {
    /// Same contract as [`Settlement::sign`](purser_actors::port::Settlement::sign).
    pub(super) fn sign_outgoing(&self, transfer: &OutgoingTransferRequest) -> Result<Authorization, PortError> {
        let treasury = treasury_wallet().map_err(|_| PortError {
            kind: ErrorKind::Permanent,
            operation: "sign",
            message: "the treasury's key is not one".into(),
        })?;
        let chains = SigningContext {
            token: self.token(),
            time: self,
            blockhashes: self,
            fee_payers: self,
        };
        sign_transfer(&treasury, transfer, &chains)
    }
}

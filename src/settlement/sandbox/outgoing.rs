//! Transfers out of the sandbox's treasury, signed with its published keys as any payer signs.

use purser_actors::id::{Network, Wallet};
use purser_actors::port::{Authorization, ErrorKind, EvmAuthorization, PortError, SolanaTransfer, Timestamp, Transfer};
use sha2::{Digest as _, Sha256};

use super::svm::{BLOCKHASH_LIFE, FINALIZED, SLOT_MS};
use super::wire::Transaction;
use super::{SandboxSettlement, svm};
use crate::payment::terms::{SOLANA_USDC, Token};
use crate::sandbox::keys::{fee_payer, treasury_wallet};
use crate::wallet::TestWallet;
use crate::wallet::solana::Transfer as Draft;

/// How long a transfer on Base may land after it was signed, in seconds.
const LIFE_S: u64 = 300;
/// The same of whatever is signed here, in seconds. A block hash on Solana lives about a minute, and is dead for good 32 slots
/// later.
pub const LONGEST_SIGNED_S: u64 = {
    let on_solana = (BLOCKHASH_LIFE + FINALIZED) * SLOT_MS / 1_000 + 1;
    if on_solana > LIFE_S { on_solana } else { LIFE_S }
};

impl SandboxSettlement {
    /// Signs a transfer with a wallet's keys, as [`Settlement::sign`](purser_actors::port::Settlement::sign) does with the
    /// treasury's. Sends nothing.
    ///
    /// # Errors
    /// `Permanent` for an address without a token account.
    pub fn sign_with(&self, wallet: &TestWallet, transfer: &Transfer) -> Result<Authorization, PortError> {
        match transfer.to {
            Wallet::Evm(to) => Ok(on_base(wallet, transfer, to, self.chain_time(Network::Base))),
            Wallet::Solana(to) => on_solana(wallet, transfer, to, self.solana.latest_blockhash().0),
        }
    }
}

/// The keys that withdrawals are signed with.
pub(super) fn treasury_keys() -> Result<TestWallet, PortError> {
    treasury_wallet().map_err(|_| refused("the treasury's key is not one"))
}

/// An EIP-3009 authorization of the wallet. Its nonce follows from the key, so however often it is signed, the chain
/// takes one.
fn on_base(wallet: &TestWallet, transfer: &Transfer, to: [u8; 20], now: Timestamp) -> Authorization {
    let mut nonce = Sha256::new();
    nonce.update(b"sandbox withdrawal");
    nonce.update(transfer.key.to_be_bytes());
    let mut authorization = EvmAuthorization {
        from: wallet.evm_address(),
        to,
        value: transfer.amount,
        valid_after: 0,
        valid_before: now.seconds().saturating_add(LIFE_S),
        nonce: nonce.finalize().into(),
        signature: [0; 65].into(),
    };
    wallet.sign_transfer(&Token::SANDBOX.domain(), &mut authorization);
    Authorization::Evm(authorization)
}

/// A transaction of the wallet with a recent block hash; the memo says which withdrawal it is.
fn on_solana(
    wallet: &TestWallet,
    transfer: &Transfer,
    to: [u8; 32],
    blockhash: [u8; 32],
) -> Result<Authorization, PortError> {
    let memo = format!("{:032x}", transfer.key);
    let draft = Draft {
        fee_payer: fee_payer(),
        pay_to: to,
        mint: SOLANA_USDC,
        amount: transfer.amount.atomic(),
        blockhash,
        memo: &memo,
    };
    let draft = wallet
        .draft_transfer(&draft)
        .ok_or_else(|| refused("the address has no token account"))?;
    let wire = wallet.sign_draft(&draft);
    let read = Transaction::parse(&wire).map_err(|e| refused(&e.to_string()))?;
    Ok(Authorization::Solana(SolanaTransfer {
        message_hash: svm::message_hash(&read),
        transaction: wire,
        payer: wallet.solana_address(),
        value: transfer.amount,
        blockhash,
    }))
}

fn refused(message: &str) -> PortError {
    PortError {
        kind: ErrorKind::Permanent,
        operation: "sign",
        message: message.into(),
    }
}

//! Transfers signed with our own keys: those of the sandbox's treasury and of managed wallets. They are signed like any
//! payer's.

use purser_actors::id::{Network, Wallet};
use purser_actors::port::{Authorization, EvmAuthorization, OutgoingTransferRequest, PortError, Timestamp};
use sha2::{Digest as _, Sha256};

use super::chain::{Blockhash, BlockhashSource, ChainParts, ChainTime, FeePayers};
use super::errors::{permanent, temporary};
use purser_protocol::payment::chains::Chains;
use purser_protocol::payment::solana::address::Pubkey;
use purser_protocol::payment::solana::parse_own_transfer;
use purser_protocol::payment::terms::Token;
use purser_protocol::wallet::TestWallet;
use purser_protocol::wallet::solana::Transfer as Draft;

/// Validity of a transfer on Base after it was signed, in seconds.
pub const VALIDITY_S: u64 = 300;

/// Chain state needed for a signature.
pub struct SigningContext<'a> {
    /// The token on Base.
    pub token: Token,
    /// The chains' time.
    pub time: &'a dyn ChainTime,
    /// Blockhashes of Solana.
    pub blockhashes: &'a dyn BlockhashSource,
    /// Fee payers on Solana.
    pub fee_payers: &'a dyn FeePayers,
}

impl<'a> From<&'a ChainParts> for SigningContext<'a> {
    fn from(chains: &'a ChainParts) -> Self {
        Self {
            token: chains.names.base.token,
            time: &*chains.time,
            blockhashes: &*chains.blockhashes,
            fee_payers: &*chains.fee_payers,
        }
    }
}

/// Signs a transfer with a wallet's keys, as [`Settlement::sign`](purser_actors::port::Settlement::sign) does with the
/// treasury's. Sends nothing.
///
/// # Errors
/// `Permanent` for an address without a token account, `Temporary` while the chain's time or a fresh blockhash is
/// unknown.
pub fn sign_transfer(
    wallet: &TestWallet,
    transfer: &OutgoingTransferRequest,
    chains: &SigningContext<'_>,
) -> Result<Authorization, PortError> {
    match transfer.to {
        Wallet::Evm(to) => {
            let now = chains.time.now_on(Network::Base)?;
            Ok(base_authorization(wallet, transfer, to, now, &chains.token))
        }
        Wallet::Solana(to) => {
            let recent = chains.blockhashes.newest().filter(Blockhash::is_fresh);
            let recent = recent.ok_or_else(|| no_blockhash("sign"))?;
            let fee_payer = chains.fee_payers.choose().ok_or_else(no_fee_payer)?;
            solana_authorization(wallet, transfer, to, &recent, fee_payer)
        }
    }
}

/// Nothing is signed on Solana without a fresh blockhash; a later attempt may have one.
pub fn no_blockhash(operation: &'static str) -> PortError {
    temporary(operation, "no recent blockhash is known")
}

fn no_fee_payer() -> PortError {
    temporary("sign", "no fee payer is known")
}

/// An EIP-3009 authorization of the wallet. Its nonce is derived from the key, so the chain accepts only one, however
/// often it is signed.
fn base_authorization(
    wallet: &TestWallet,
    transfer: &OutgoingTransferRequest,
    to: [u8; 20],
    now: Timestamp,
    token: &Token,
) -> Authorization {
    let mut nonce = Sha256::new();
    nonce.update(b"sandbox withdrawal");
    nonce.update(transfer.key.to_be_bytes());
    let mut authorization = EvmAuthorization {
        from: wallet.evm_address(),
        to,
        value: transfer.amount,
        valid_after: 0,
        valid_before: now.seconds().saturating_add(VALIDITY_S),
        nonce: nonce.finalize().into(),
        signature: [0; 65].into(),
    };
    wallet.sign_transfer(&token.domain(), &mut authorization);
    Authorization::Evm(authorization)
}

/// A transaction of the wallet with a recent block hash. The memo contains the transfer's key.
fn solana_authorization(
    wallet: &TestWallet,
    transfer: &OutgoingTransferRequest,
    to: [u8; 32],
    recent: &Blockhash,
    fee_payer: Pubkey,
) -> Result<Authorization, PortError> {
    let memo = format!("{:032x}", transfer.key);
    let draft = Draft {
        fee_payer,
        pay_to: to,
        mint: Chains::configured().solana.mint,
        amount: transfer.amount.atomic(),
        blockhash: recent.hash,
        memo: &memo,
    };
    let draft = wallet
        .draft_transfer(&draft)
        .ok_or_else(|| permanent("sign", "the address has no token account"))?;
    let wire = wallet.sign_draft(&draft);
    let mut signed =
        parse_own_transfer(&wire).ok_or_else(|| permanent("sign", "the draft is not read as a transfer"))?;
    signed.not_before_slot = recent.not_before_slot;
    Ok(Authorization::Solana(signed))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use std::sync::Arc;

    use purser_actors::money::Usdc;
    use purser_actors::port::ErrorKind;

    use super::super::chain::Blockhash;
    use super::*;
    use purser_protocol::payment::solana::wire::Transaction;

    const FEE_PAYER: Pubkey = [7; 32];
    const FRESH: Blockhash = Blockhash {
        hash: [9; 32],
        last_valid_block_height: 150,
        not_before_slot: 40,
        age_ms: 0,
    };

    /// Chains with a fixed time and blockhash.
    struct FixedChains(Option<Timestamp>, Option<Blockhash>);

    impl ChainTime for FixedChains {
        fn now_on(&self, _: Network) -> Result<Timestamp, PortError> {
            self.0.ok_or_else(|| temporary("time", "no block was read"))
        }
    }

    impl BlockhashSource for FixedChains {
        fn newest(&self) -> Option<Blockhash> {
            self.1
        }
    }

    impl FeePayers for FixedChains {
        fn all(&self) -> Arc<[Pubkey]> {
            [FEE_PAYER].into()
        }

        fn choose(&self) -> Option<Pubkey> {
            Some(FEE_PAYER)
        }
    }

    fn signed(fixed: &FixedChains, to: Wallet) -> Result<Authorization, PortError> {
        let wallet = TestWallet::from_bytes(&[1; 32], &[2; 32]).unwrap();
        let chains = SigningContext {
            token: Token::USDC,
            time: fixed,
            blockhashes: fixed,
            fee_payers: fixed,
        };
        let amount = Usdc::from_atomic(5_000_000);
        sign_transfer(&wallet, &OutgoingTransferRequest { key: 1, to, amount }, &chains)
    }

    // On Base the chain's own time limits the validity; on Solana the blockhash and the fee payer are ours.
    #[test]
    fn a_transfer_is_signed_by_what_the_chains_say() {
        let fixed = FixedChains(Some(Timestamp(1_000_000)), Some(FRESH));
        let Ok(Authorization::Evm(base)) = signed(&fixed, Wallet::Evm([3; 20])) else {
            panic!("not signed");
        };
        assert_eq!(
            (base.valid_before, base.value.atomic()),
            (1_000 + VALIDITY_S, 5_000_000)
        );
        let Ok(Authorization::Solana(solana)) = signed(&fixed, Wallet::Solana([4; 32])) else {
            panic!("not signed");
        };
        assert_eq!(
            (solana.blockhash, solana.not_before_slot, solana.value.atomic()),
            ([9; 32], 40, 5_000_000)
        );
        let wire = Transaction::parse(&solana.transaction).unwrap();
        assert_eq!(wire.keys.first(), Some(&&FEE_PAYER).copied());
    }

    // Nothing is signed without a known expiry, or if it could not settle.
    #[test]
    fn without_time_or_a_fresh_blockhash_nothing_is_signed() {
        let old = Blockhash {
            age_ms: Blockhash::MAX_AGE_MS + 1,
            ..FRESH
        };
        for (fixed, to) in [
            (FixedChains(None, Some(FRESH)), Wallet::Evm([3; 20])),
            (FixedChains(Some(Timestamp(0)), None), Wallet::Solana([4; 32])),
            (FixedChains(Some(Timestamp(0)), Some(old)), Wallet::Solana([4; 32])),
        ] {
            assert_eq!(signed(&fixed, to).unwrap_err().kind, ErrorKind::Temporary);
        }
    }
}

//! Transfers out of the treasury: signed here, then prepared and sent like a payment. Also checks which wallets can
//! receive one.

use futures_util::future::{join, join_all};
use purser_actors::id::Wallet;
use purser_actors::money::Usdc;
use purser_actors::port::{Authorization, ErrorKind, OutgoingTransferRequest, PortError, SolanaTransfer};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::{SYSTEM, is_on_curve};
use purser_chains::solana::draft::Draft;
use purser_chains::solana::message::Version;
use purser_chains::solana::node::Account;
use purser_chains::solana::status::Commitment;
use purser_chains::solana::token::{
    TOKEN_ACCOUNT_BYTES, TransferChecked, create_associated_token_account, memo, set_compute_unit_limit,
    set_compute_unit_price,
};
use purser_chains::solana::transaction::{Transaction, sign_partially};
use sha2::{Digest as _, Sha256};

use super::SolanaSettlement;
use crate::errors::{error, temporary};
use crate::read_limits::DEADLINE;

const SIGN: &str = "sign";
/// Compute units of a withdrawal. Creating a token account takes about half of them.
const UNITS: u32 = 60_000;
/// A blockhash older than this is not used for signing, in milliseconds: less than half of its validity is left.
const MAX_BLOCKHASH_AGE_MS: u64 = 25_000;

/// Whether an owner can receive USDC.
enum CanReceive {
    /// The owner has a token account.
    Yes,
    /// The owner can have one if its rent is paid.
    WithAccount,
    No(&'static str),
}

impl SolanaSettlement {
    /// See [`purser_actors::port::Settlement::sign`]. The recipient's token account is created if a setting allows its
    /// rent.
    pub(super) async fn sign_transfer(&self, transfer: &OutgoingTransferRequest) -> Result<Authorization, PortError> {
        let fee_payer = self.choose_fee_payer();
        let fee_payer = fee_payer.ok_or_else(|| temporary(SIGN, "every fee payer is below its floor"))?;
        self.sign_with(transfer, fee_payer, true).await
    }

    /// Signs with this fee payer, which pays for the recipient's token account only if it `may_create` one.
    pub(super) async fn sign_with(
        &self,
        transfer: &OutgoingTransferRequest,
        fee_payer: Pubkey,
        may_create: bool,
    ) -> Result<Authorization, PortError> {
        let refused = |message: &str| error(ErrorKind::Permanent, SIGN, message);
        let Wallet::Solana(to) = transfer.to else {
            return Err(refused("not an address of Solana"));
        };
        let creates = match self.receives(&to, SIGN).await? {
            CanReceive::Yes => false,
            CanReceive::WithAccount if may_create => true,
            CanReceive::WithAccount => return Err(refused("the address has no token account")),
            CanReceive::No(why) => return Err(refused(why)),
        };
        let recent = self.tip.lock().newest();
        let now_ms = self.timer.now_ms();
        let fresh = recent.filter(|(_, read_ms)| now_ms.saturating_sub(*read_ms) <= MAX_BLOCKHASH_AGE_MS);
        let (blockhash, _) = fresh.ok_or_else(|| temporary(SIGN, "no recent blockhash is known"))?;
        let underivable = || refused("the address has no token account");
        let moves = TransferChecked::between(&self.treasury(), &to, &self.mint, transfer.amount.atomic());
        let mut instructions = vec![
            set_compute_unit_limit(UNITS),
            set_compute_unit_price(self.withdrawal_unit_price),
        ];
        if creates {
            let create = create_associated_token_account(&fee_payer, &to, &self.mint);
            instructions.push(create.ok_or_else(underivable)?);
        }
        instructions.push(moves.ok_or_else(underivable)?.instruction());
        instructions.push(memo(&format!("{:032x}", transfer.key)));
        let draft = Draft {
            fee_payer,
            blockhash: blockhash.hash,
            instructions,
            version: Version::V0,
        };
        let bytes = sign_partially(&draft, &[&self.treasury]).map_err(|e| refused(&e.to_string()))?;
        let message = Transaction::parse(&bytes)
            .map_err(|e| refused(&e.to_string()))?
            .message_bytes;
        Ok(Authorization::Solana(SolanaTransfer {
            message_hash: Sha256::digest(message).into(),
            transaction: bytes,
            payer: self.treasury(),
            value: transfer.amount,
            blockhash: blockhash.hash,
            not_before_slot: blockhash.first_slot(),
        }))
    }

    /// The fee payer with the fewest transactions in flight; `None` while each is below its floor or was not read yet.
    pub fn choose_fee_payer(&self) -> Option<Pubkey> {
        self.payers.lock().choose()
    }

    /// All our fee payers: a payment with any of them is co-signed by this port.
    pub fn fee_payers(&self) -> &[Pubkey] {
        &self.fee_payer_addresses
    }

    /// Same contract as [`purser_actors::port::Settlement::can_receive`].
    pub(super) async fn owner_can_receive(&self, to: &Wallet) -> Result<bool, PortError> {
        let Wallet::Solana(owner) = to else { return Ok(false) };
        let receives = self.receives(owner, "can receive").await?;
        Ok(!matches!(receives, CanReceive::No(_)))
    }

    /// Whether the owner has a token account.
    pub(super) async fn owner_has_account(&self, to: &Wallet) -> Result<bool, PortError> {
        let Wallet::Solana(owner) = to else { return Ok(false) };
        let receives = self.receives(owner, "can receive").await?;
        Ok(matches!(receives, CanReceive::Yes))
    }

    async fn receives(&self, owner: &Pubkey, operation: &'static str) -> Result<CanReceive, PortError> {
        let account = self.token_account_of(owner, operation)?;
        let read = self.node.accounts(&[account, *owner], Commitment::Confirmed).await;
        let (_, mut read) = read.map_err(|e| temporary(operation, e))?;
        let (own, token) = (read.pop().flatten(), read.pop().flatten());
        if let Some(token) = token {
            return Ok(match token.token_account() {
                Some(state) if state.frozen => CanReceive::No("the token account is frozen"),
                Some(state) if state.mint == self.mint && state.owner == *owner => CanReceive::Yes,
                _ => CanReceive::No("the token account is not the owner's"),
            });
        }
        // A token account or a program in place of an owner: USDC sent there could not be spent.
        let is_wallet = own.is_none_or(|own: Account| own.owner == SYSTEM && !own.executable);
        if !is_wallet || !is_on_curve(owner) {
            return Ok(CanReceive::No("the address has no token account and is no wallet"));
        }
        match self.account_rent(operation).await? <= self.account_rent_cap {
            true => Ok(CanReceive::WithAccount),
            false => Ok(CanReceive::No("the address has no token account")),
        }
    }

    /// Rent of a token account in lamports. Not queried while the setting allows none.
    pub(super) async fn account_rent(&self, operation: &'static str) -> Result<u64, PortError> {
        if self.account_rent_cap == 0 {
            return Ok(u64::MAX);
        }
        let rent = self.node.rent_exemption(TOKEN_ACCOUNT_BYTES).await;
        rent.map_err(|e| temporary(operation, e))
    }

    /// USDC balance of an owner at the newest known state; zero without a token account.
    ///
    /// # Errors
    /// `Temporary` when the chain cannot be read.
    pub async fn balance_of(&self, owner: &Pubkey, commitment: Commitment) -> Result<Usdc, PortError> {
        const HOLDS: &str = "holds";
        let account = self.token_account_of(owner, HOLDS)?;
        let state = self.node.token_account(&account, commitment).await;
        let state = state.map_err(|e| temporary(HOLDS, e))?;
        Ok(Usdc::from_atomic(state.map_or(0, |state| state.amount)))
    }

    /// See [`purser_actors::port::Settlement::final_treasury_balance`]. Incoming transfers count when they are final,
    /// outgoing ones when they are seen.
    pub(super) async fn treasury_balance(&self) -> Result<Usdc, PortError> {
        let (seen, durable) = join(
            self.shared_treasury_balance(Commitment::Confirmed),
            self.shared_treasury_balance(Commitment::Finalized),
        )
        .await;
        Ok(seen?.min(durable?))
    }

    /// The second highest balance that endpoints show. No single endpoint can invent money or, if there are three, hide
    /// it. If only one endpoint responds, its balance counts.
    async fn shared_treasury_balance(&self, commitment: Commitment) -> Result<Usdc, PortError> {
        const HOLDS: &str = "treasury holds";
        let asked = (0..self.node.endpoints()).map(|endpoint| {
            let read = self.node.token_account_on(endpoint, &self.treasury_account, commitment);
            tokio::time::timeout(DEADLINE, read)
        });
        let (mut shown, mut failure) = (Vec::new(), "no endpoint answers in time".to_owned());
        for answer in join_all(asked).await {
            match answer {
                Ok(Ok(state)) => shown.push(state.map_or(0, |state| state.amount)),
                Ok(Err(error)) => failure = error.to_string(),
                Err(_) => {}
            }
        }
        shown.sort_unstable_by(|one, other| other.cmp(one));
        let shown = shown.get(self.witnesses() - 1).or_else(|| shown.last());
        shown
            .map(|atomic| Usdc::from_atomic(*atomic))
            .ok_or_else(|| temporary(HOLDS, failure))
    }
}

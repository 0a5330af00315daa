//! Burn messages: header of 148 bytes, burn body of 228 bytes, hook data. Numbers are big-endian.

use super::burn::BurnOrder;
use super::{DOMAIN_BASE, DOMAIN_SOLANA, Deployment, TOKEN_MESSENGER_MINTER};
use crate::solana::Pubkey;

/// Size of the header in bytes.
pub const HEADER_BYTES: usize = 148;
/// Size of the burn body in bytes, without hook data.
pub const BODY_BYTES: usize = 228;
/// Maximum size of a message that is parsed.
pub const MAX_BYTES: usize = 4096;

/// Version of header and burn body.
const VERSION: u32 = 1;

/// A message of a burn. Amounts are atomic units of USDC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BurnMessage {
    /// Domain of the burn.
    pub source_domain: u32,
    /// Domain of the mint.
    pub destination_domain: u32,
    /// Used once on the destination; zero until Iris has attested.
    pub nonce: [u8; 32],
    /// Program that sent the message.
    pub sender: [u8; 32],
    /// Contract that receives the message body.
    pub recipient: [u8; 32],
    /// Only this address may submit the message; zero for anyone.
    pub destination_caller: [u8; 32],
    /// Finality that the burner requested.
    pub min_finality_threshold: u32,
    /// Finality at which Iris attested; zero before that.
    pub finality_threshold_executed: u32,
    /// Mint of the burnt token.
    pub burn_token: [u8; 32],
    /// Recipient of the mint; an EVM address is left-padded with zeros.
    pub mint_recipient: [u8; 32],
    /// Burned amount in atomic units.
    pub amount: u64,
    /// Owner of the burnt tokens.
    pub message_sender: [u8; 32],
    /// Maximum fee; less than `amount`.
    pub max_fee: u64,
    /// Fee that was taken, at most `max_fee`; zero until Iris has attested.
    pub fee_executed: u64,
    /// Block of the destination after which the attestation expires; 0 for never.
    pub expiration_block: u64,
    /// Data for a hook on the destination; Purser sends none.
    pub hook_data: Vec<u8>,
}

/// Why bytes are not a burn message, or not the one expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// Shorter than header and body, or longer than [`MAX_BYTES`].
    #[error("the message has a wrong length")]
    Length,
    /// Not version 1 of header and body.
    #[error("the message has an unknown version")]
    Version,
    /// An amount that does not fit 64 bits.
    #[error("an amount of the message is too large")]
    Amount,
    /// A fee above its limit, or a limit that is not below the amount.
    #[error("the fees of the message contradict each other")]
    Fee,
    /// A field differs from the order.
    #[error("the message's {0} is not what was ordered")]
    Mismatch(&'static str),
}

impl BurnMessage {
    /// Parses a message.
    ///
    /// # Errors
    /// See [`MessageError`]; never `Mismatch`.
    pub fn parse(bytes: &[u8]) -> Result<Self, MessageError> {
        if bytes.len() < HEADER_BYTES + BODY_BYTES || bytes.len() > MAX_BYTES {
            return Err(MessageError::Length);
        }
        let mut reader = Reader(bytes);
        if reader.u32()? != VERSION {
            return Err(MessageError::Version);
        }
        let (source_domain, destination_domain, nonce) = (reader.u32()?, reader.u32()?, reader.word()?);
        let (sender, recipient, destination_caller) = (reader.word()?, reader.word()?, reader.word()?);
        let (min_finality_threshold, finality_threshold_executed) = (reader.u32()?, reader.u32()?);
        if reader.u32()? != VERSION {
            return Err(MessageError::Version);
        }
        let message = Self {
            source_domain,
            destination_domain,
            nonce,
            sender,
            recipient,
            destination_caller,
            min_finality_threshold,
            finality_threshold_executed,
            burn_token: reader.word()?,
            mint_recipient: reader.word()?,
            amount: reader.amount()?,
            message_sender: reader.word()?,
            max_fee: reader.amount()?,
            fee_executed: reader.amount()?,
            expiration_block: reader.amount()?,
            hook_data: reader.0.to_vec(),
        };
        if message.max_fee >= message.amount || message.fee_executed > message.max_fee {
            return Err(MessageError::Fee);
        }
        Ok(message)
    }

    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + BODY_BYTES + self.hook_data.len());
        for number in [VERSION, self.source_domain, self.destination_domain] {
            bytes.extend(number.to_be_bytes());
        }
        for word in [&self.nonce, &self.sender, &self.recipient, &self.destination_caller] {
            bytes.extend(word);
        }
        for number in [self.min_finality_threshold, self.finality_threshold_executed, VERSION] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend(self.burn_token);
        bytes.extend(self.mint_recipient);
        bytes.extend(word_of(self.amount));
        bytes.extend(self.message_sender);
        for amount in [self.max_fee, self.fee_executed, self.expiration_block] {
            bytes.extend(word_of(amount));
        }
        bytes.extend(&self.hook_data);
        bytes
    }

    /// The message that the burn of an order emits on Solana, before Iris has filled in its fields.
    pub fn emitted_by(order: &BurnOrder, deployment: &Deployment) -> Self {
        Self {
            source_domain: DOMAIN_SOLANA,
            destination_domain: DOMAIN_BASE,
            nonce: [0; 32],
            sender: TOKEN_MESSENGER_MINTER,
            recipient: evm_word(&deployment.token_messenger),
            destination_caller: [0; 32],
            min_finality_threshold: order.min_finality_threshold,
            finality_threshold_executed: 0,
            burn_token: order.mint,
            mint_recipient: evm_word(&order.recipient),
            amount: order.amount,
            message_sender: order.owner,
            max_fee: order.max_fee,
            fee_executed: 0,
            expiration_block: 0,
            hook_data: Vec::new(),
        }
    }

    /// Checks that this is the attested message of an order. Fields that Iris fills in are not compared. The fee is at
    /// most the order's, because [`Self::parse`] has checked it against `max_fee`.
    ///
    /// # Errors
    /// [`MessageError::Mismatch`] with the field's name.
    pub fn check_is_of(&self, order: &BurnOrder, deployment: &Deployment) -> Result<(), MessageError> {
        let ordered = Self::emitted_by(order, deployment);
        let fields = [
            ("source domain", self.source_domain == ordered.source_domain),
            (
                "destination domain",
                self.destination_domain == ordered.destination_domain,
            ),
            ("sender", self.sender == ordered.sender),
            ("recipient contract", self.recipient == ordered.recipient),
            (
                "destination caller",
                self.destination_caller == ordered.destination_caller,
            ),
            (
                "finality threshold",
                self.min_finality_threshold == ordered.min_finality_threshold,
            ),
            ("token", self.burn_token == ordered.burn_token),
            ("mint recipient", self.mint_recipient == ordered.mint_recipient),
            ("amount", self.amount == ordered.amount),
            ("owner", self.message_sender == ordered.message_sender),
            ("fee limit", self.max_fee == ordered.max_fee),
            ("hook data", self.hook_data.is_empty()),
        ];
        match fields.into_iter().find(|(_, equal)| !equal) {
            Some((name, _)) => Err(MessageError::Mismatch(name)),
            None => Ok(()),
        }
    }

    /// Checks a burn whose order is no longer known: its owner, token and amount, and that its destination is Base.
    /// Recipient and fee limit are not checked.
    ///
    /// # Errors
    /// [`MessageError::Mismatch`] with the field's name.
    pub fn check_burned(
        &self,
        (owner, mint, amount): (&Pubkey, &Pubkey, u64),
        deployment: &Deployment,
    ) -> Result<(), MessageError> {
        let recipient = self.evm_recipient().ok_or(MessageError::Mismatch("mint recipient"))?;
        let order = BurnOrder {
            owner: *owner,
            mint: *mint,
            recipient,
            amount,
            max_fee: self.max_fee,
            min_finality_threshold: self.min_finality_threshold,
        };
        self.check_is_of(&order, deployment)
    }

    /// The amount that arrives: the burnt amount minus the fee that was taken; at least `amount - max_fee`.
    pub const fn arrives(&self) -> u64 {
        // `parse` has checked that the fee is below the amount.
        self.amount.saturating_sub(self.fee_executed)
    }

    /// The EVM address that receives the mint. `None` if the field is not one.
    pub fn evm_recipient(&self) -> Option<[u8; 20]> {
        let (padding, address) = self.mint_recipient.split_first_chunk::<12>()?;
        (*padding == [0; 12]).then(|| address.try_into().ok()).flatten()
    }

    /// Whether the attestation cannot be used in or after this block of the destination.
    pub const fn is_expired_at(&self, block: u64) -> bool {
        self.expiration_block != 0 && self.expiration_block <= block
    }
}

/// An EVM address as a 32-byte word.
pub fn evm_word(address: &[u8; 20]) -> [u8; 32] {
    let mut word = [0; 32];
    word[12..].copy_from_slice(address);
    word
}

fn word_of(amount: u64) -> Pubkey {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&amount.to_be_bytes());
    word
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (array, rest) = self.0.split_first_chunk::<N>().ok_or(MessageError::Length)?;
        self.0 = rest;
        Ok(*array)
    }

    fn u32(&mut self) -> Result<u32, MessageError> {
        self.array().map(u32::from_be_bytes)
    }

    fn word(&mut self) -> Result<[u8; 32], MessageError> {
        self.array()
    }

    fn amount(&mut self) -> Result<u64, MessageError> {
        if self.array::<24>()? != [0; 24] {
            return Err(MessageError::Amount);
        }
        self.array().map(u64::from_be_bytes)
    }
}

#[cfg(test)]
mod tests;

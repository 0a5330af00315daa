//! Burn messages: header of 148 bytes, burn body of 228 bytes, hook data. Numbers are big-endian.

use super::burn::BurnOrder;
use super::{DOMAIN_BASE, DOMAIN_SOLANA, Deployment, TOKEN_MESSENGER_MINTER};
use crate::solana::Pubkey;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 148;
/// Bytes of the burn body without hook data.
pub const BODY_BYTES: usize = 228;
/// Longest message that is read.
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
    /// Contract that takes the message body.
    pub recipient: [u8; 32],
    /// Only this address may submit the message; zero for anyone.
    pub destination_caller: [u8; 32],
    /// Finality that the burner asked for.
    pub min_finality_threshold: u32,
    /// Finality at which Iris attested; zero before.
    pub finality_threshold_executed: u32,
    /// Mint of the burnt token.
    pub burn_token: [u8; 32],
    /// Who receives the mint; an EVM address is left-padded with zeros.
    pub mint_recipient: [u8; 32],
    /// Burnt.
    pub amount: u64,
    /// Owner of the burnt tokens.
    pub message_sender: [u8; 32],
    /// Most that may be taken as a fee; less than `amount`.
    pub max_fee: u64,
    /// Taken as a fee, at most `max_fee`; zero until Iris has attested.
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
    /// A field is not what was ordered.
    #[error("the message's {0} is not what was ordered")]
    Mismatch(&'static str),
}

impl BurnMessage {
    /// Reads a message.
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

    /// Writes the message.
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

    /// The message that the burn of an order emits on Solana, before Iris has filled it in.
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

    /// Checks that this is the attested message of an order. What Iris fills in is not compared; the fee it took is at
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

    /// What the mint brings: the amount less the fee that was taken; at least `amount - max_fee`.
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
mod tests {
    use super::super::{MAINNET, THRESHOLD_FAST};
    use super::*;
    use crate::solana::address::USDC_MAINNET;

    pub(crate) fn order() -> BurnOrder {
        BurnOrder {
            owner: [3; 32],
            mint: USDC_MAINNET,
            recipient: [0xaa; 20],
            amount: 5_000_500,
            max_fee: 500,
            min_finality_threshold: THRESHOLD_FAST,
        }
    }

    fn attested() -> BurnMessage {
        BurnMessage {
            nonce: [5; 32],
            finality_threshold_executed: THRESHOLD_FAST,
            fee_executed: 400,
            expiration_block: 1_000,
            ..BurnMessage::emitted_by(&order(), &MAINNET)
        }
    }

    #[test]
    fn fields_are_where_circle_has_them() {
        // Checks: the offsets of Message and BurnMessage in circlefin/solana-cctp-contracts, programs/v2.
        let message = BurnMessage {
            hook_data: vec![1, 2],
            ..attested()
        };
        let bytes = message.encode();
        assert_eq!(bytes.len(), 148 + 228 + 2);
        let at = |from: usize, length: usize| hex::encode(&bytes[from..from + length]);
        let header = [
            (0, "00000001"),
            (4, "00000005"),
            (8, "00000006"),
            (140, "000003e8"),
            (144, "000003e8"),
        ];
        for (offset, expected) in header {
            assert_eq!(at(offset, 4), expected, "{offset}");
        }
        let words: [(usize, [u8; 32]); 6] = [
            (12, [5; 32]),
            (44, TOKEN_MESSENGER_MINTER),
            (76, evm_word(&MAINNET.token_messenger)),
            (148 + 4, USDC_MAINNET),
            (148 + 36, evm_word(&[0xaa; 20])),
            (148 + 100, [3; 32]),
        ];
        for (offset, word) in words {
            assert_eq!(bytes[offset..offset + 32], word, "{offset}");
        }
        let amounts = [(68, 5_000_500), (132, 500), (164, 400), (196, 1_000)];
        for (offset, amount) in amounts {
            assert_eq!(bytes[148 + offset..148 + offset + 32], word_of(amount), "{offset}");
        }
        assert_eq!(bytes[148 + 228..], [1, 2]);
        assert_eq!(BurnMessage::parse(&bytes), Ok(message));
    }

    #[test]
    fn the_fee_that_was_taken_decides_what_arrives() {
        for (fee, arrives) in [(0, 5_000_500), (400, 5_000_100), (500, 5_000_000)] {
            let message = BurnMessage {
                fee_executed: fee,
                ..attested()
            };
            let parsed = BurnMessage::parse(&message.encode()).unwrap();
            assert_eq!(parsed.arrives(), arrives);
            assert!(parsed.arrives() >= order().arrives_at_least());
            assert_eq!(parsed.check_is_of(&order(), &MAINNET), Ok(()));
            assert_eq!(parsed.evm_recipient(), Some([0xaa; 20]));
        }
    }

    #[test]
    fn malformed_messages_are_rejected() {
        let bytes = attested().encode();
        let with = |offset: usize, value: u8| {
            let mut bytes = bytes.clone();
            bytes[offset] = value;
            BurnMessage::parse(&bytes)
        };
        let cases = [
            (with(3, 0), MessageError::Version),
            (with(3, 2), MessageError::Version),
            (with(148 + 3, 0), MessageError::Version),
            (with(148 + 68, 1), MessageError::Amount),
            (with(148 + 187, 1), MessageError::Amount),
            (with(148 + 195, 255), MessageError::Fee),
            (with(148 + 159, 255), MessageError::Fee),
            (BurnMessage::parse(&bytes[..375]), MessageError::Length),
            (BurnMessage::parse(&[0; MAX_BYTES + 1]), MessageError::Length),
            (BurnMessage::parse(&[]), MessageError::Length),
        ];
        for (position, (result, expected)) in cases.into_iter().enumerate() {
            // A single changed byte of fee_executed may stay below max_fee.
            assert_eq!(result.unwrap_err(), expected, "case {position}");
        }
    }

    #[test]
    fn another_order_is_not_this_one() {
        let cases = [
            (
                "amount",
                BurnOrder {
                    amount: 5_000_501,
                    ..order()
                },
            ),
            (
                "fee limit",
                BurnOrder {
                    max_fee: 501,
                    ..order()
                },
            ),
            (
                "mint recipient",
                BurnOrder {
                    recipient: [0xab; 20],
                    ..order()
                },
            ),
            (
                "token",
                BurnOrder {
                    mint: [1; 32],
                    ..order()
                },
            ),
            (
                "owner",
                BurnOrder {
                    owner: [1; 32],
                    ..order()
                },
            ),
            (
                "finality threshold",
                BurnOrder {
                    min_finality_threshold: 2000,
                    ..order()
                },
            ),
        ];
        for (field, order) in cases {
            assert_eq!(
                attested().check_is_of(&order, &MAINNET),
                Err(MessageError::Mismatch(field))
            );
        }
        let other = super::super::TESTNET;
        assert_eq!(
            attested().check_is_of(&order(), &other),
            Err(MessageError::Mismatch("recipient contract"))
        );
        let hooked = BurnMessage {
            hook_data: vec![0],
            ..attested()
        };
        assert_eq!(
            hooked.check_is_of(&order(), &MAINNET),
            Err(MessageError::Mismatch("hook data"))
        );
        let elsewhere = BurnMessage {
            mint_recipient: [1; 32],
            ..attested()
        };
        assert_eq!(elsewhere.evm_recipient(), None);
    }

    #[test]
    fn an_attestation_expires_at_its_block() {
        let message = attested();
        assert!(!message.is_expired_at(999) && message.is_expired_at(1_000));
        let unlimited = BurnMessage {
            expiration_block: 0,
            ..attested()
        };
        assert!(!unlimited.is_expired_at(u64::MAX));
    }
}

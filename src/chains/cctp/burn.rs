//! The burn on Solana: amounts, derived addresses and the `deposit_for_burn` instruction of TokenMessengerMinterV2.

use super::message::{BODY_BYTES, HEADER_BYTES, evm_word};
use super::{DOMAIN_BASE, MESSAGE_TRANSMITTER, TOKEN_MESSENGER_MINTER};
use crate::solana::Pubkey;
use crate::solana::address::{SYSTEM, TOKEN, associated_token_account, find_program_address};
use crate::solana::draft::{AccountMeta, Instruction};
use crate::solana::message::Message;

/// Anchor's discriminator of `deposit_for_burn`: the first bytes of SHA-256 of `global:deposit_for_burn`.
const DEPOSIT_FOR_BURN: [u8; 8] = [215, 60, 61, 46, 114, 55, 128, 176];
/// Bytes of the instruction's data: discriminator, amount, domain, recipient, caller, fee limit, finality threshold.
const DATA_BYTES: usize = 8 + 8 + 4 + 32 + 32 + 8 + 4;
/// Number of accounts of the instruction, and indexes of some of them.
const ACCOUNTS: usize = 18;
const OWNER: usize = 0;
const RENT_PAYER: usize = 1;
const MINT: usize = 10;
const EVENT_ACCOUNT: usize = 11;

/// Size of the account that holds the message: discriminator, rent payer, time, length, message. The event rent payer
/// pays its rent and can reclaim it five days later.
pub const EVENT_ACCOUNT_BYTES: u64 = (8 + 32 + 8 + 4 + HEADER_BYTES + BODY_BYTES) as u64;

/// A share of the burnt amount in 10^-8 (ten-thousandths of a basis point).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FeeRate(u64);

impl FeeRate {
    const WHOLE: u64 = 100_000_000;

    pub const ZERO: Self = Self(0);

    /// Parses basis points with up to four decimals in the format of Iris (`1`, `1.3`). `None` for another format, or
    /// 10,000 and more.
    pub fn parse_basis_points(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || whole.len() > 4 || fraction.len() > 4 {
            return None;
        }
        let fraction = fraction.parse::<u64>().ok()? * 10u64.pow(4 - fraction.len() as u32);
        let rate = whole.parse::<u64>().ok()? * 10_000 + fraction;
        (rate < Self::WHOLE).then_some(Self(rate))
    }

    /// The rate increased by this percentage, rounded up; always below the whole amount.
    #[must_use]
    pub fn with_buffer(self, percent: u8) -> Self {
        let raised = (u128::from(self.0) * (100 + u128::from(percent))).div_ceil(100);
        Self(u64::try_from(raised).unwrap_or(u64::MAX).min(Self::WHOLE - 1))
    }

    /// The fee on an amount, rounded up.
    pub fn fee_on(self, amount: u64) -> u64 {
        let fee = (u128::from(amount) * u128::from(self.0)).div_ceil(u128::from(Self::WHOLE));
        // The rate is below 1, so the fee is at most the amount.
        u64::try_from(fee).unwrap_or(u64::MAX)
    }
}

/// An order to burn. Amounts are atomic units of USDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurnOrder {
    /// Owner of the burnt tokens, who signs.
    pub owner: Pubkey,
    /// Mint of the token.
    pub mint: Pubkey,
    /// Recipient of the mint on Base.
    pub recipient: [u8; 20],
    /// Amount to burn; more than `max_fee`.
    pub amount: u64,
    /// Maximum fee of the bridge.
    pub max_fee: u64,
    /// [`super::THRESHOLD_FAST`] or [`super::THRESHOLD_STANDARD`].
    pub min_finality_threshold: u32,
}

/// A burn in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentBurn {
    /// Amount, recipient and limits of the burn.
    pub order: BurnOrder,
    /// Account that holds the message afterwards.
    pub event_account: Pubkey,
    /// Pays the rent of that account and can reclaim it.
    pub rent_payer: Pubkey,
}

impl SentBurn {
    /// The burn in a message to Base. `None` unless exactly one instruction is a `deposit_for_burn` like those of
    /// [`BurnOrder::instruction`].
    pub fn from_message(message: &Message<'_>) -> Option<Self> {
        let mut burns = message
            .instructions
            .iter()
            .filter(|call| message.program(call) == Some(&TOKEN_MESSENGER_MINTER));
        let (call, more) = (burns.next()?, burns.next());
        let accounts = message.accounts(call).filter(|accounts| accounts.len() == ACCOUNTS)?;
        if more.is_some() || call.data.len() != DATA_BYTES {
            return None;
        }
        let (discriminator, data) = call.data.split_first_chunk::<8>()?;
        let (amount, data) = data.split_first_chunk::<8>()?;
        let (domain, data) = data.split_first_chunk::<4>()?;
        let (recipient, data) = data.split_first_chunk::<32>()?;
        let (caller, data) = data.split_first_chunk::<32>()?;
        let (max_fee, data) = data.split_first_chunk::<8>()?;
        let threshold = data.first_chunk::<4>()?;
        let (padding, recipient) = recipient.split_first_chunk::<12>()?;
        let is_known = *discriminator == DEPOSIT_FOR_BURN
            && u32::from_le_bytes(*domain) == DOMAIN_BASE
            && *caller == [0; 32]
            && *padding == [0; 12];
        is_known.then_some(())?;
        Some(Self {
            order: BurnOrder {
                owner: *accounts[OWNER],
                mint: *accounts[MINT],
                recipient: recipient.try_into().ok()?,
                amount: u64::from_le_bytes(*amount),
                max_fee: u64::from_le_bytes(*max_fee),
                min_finality_threshold: u32::from_le_bytes(*threshold),
            },
            event_account: *accounts[EVENT_ACCOUNT],
            rent_payer: *accounts[RENT_PAYER],
        })
    }
}

/// Amount and fee limit of a burn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurnAmounts {
    /// Amount to burn.
    pub amount: u64,
    /// Maximum fee of the bridge.
    pub max_fee: u64,
}

impl BurnAmounts {
    /// The smallest burn from which at least `arrives` arrives at this rate. `None` for 0, or if it does not fit 64
    /// bits.
    pub fn for_arrival(arrives: u64, rate: FeeRate) -> Option<Self> {
        if arrives == 0 {
            return None;
        }
        let amount = (u128::from(arrives) * u128::from(FeeRate::WHOLE)).div_ceil(u128::from(FeeRate::WHOLE - rate.0));
        let amount = u64::try_from(amount).ok()?;
        Some(Self {
            amount,
            max_fee: amount - arrives,
        })
    }
}

impl BurnOrder {
    /// The amount that arrives with the maximum fee.
    pub const fn arrives_at_least(&self) -> u64 {
        self.amount.saturating_sub(self.max_fee)
    }

    /// The instruction. `event_account` is the address of a new key, which also signs, and whose account holds the
    /// message afterwards. `event_rent_payer` signs and pays its rent. `None` if an address cannot be derived.
    pub fn instruction(&self, event_rent_payer: &Pubkey, event_account: &Pubkey) -> Option<Instruction> {
        let minter = |seeds: &[&[u8]]| Some(find_program_address(seeds, &TOKEN_MESSENGER_MINTER)?.0);
        let accounts = vec![
            AccountMeta::signer(self.owner),
            AccountMeta::writable_signer(*event_rent_payer),
            AccountMeta::readonly(minter(&[b"sender_authority"])?),
            AccountMeta::writable(associated_token_account(&self.owner, &self.mint)?),
            AccountMeta::readonly(minter(&[b"denylist_account", &self.owner])?),
            AccountMeta::writable(find_program_address(&[b"message_transmitter"], &MESSAGE_TRANSMITTER)?.0),
            AccountMeta::readonly(minter(&[b"token_messenger"])?),
            AccountMeta::readonly(minter(&[
                b"remote_token_messenger",
                DOMAIN_BASE.to_string().as_bytes(),
            ])?),
            AccountMeta::readonly(minter(&[b"token_minter"])?),
            AccountMeta::writable(minter(&[b"local_token", &self.mint])?),
            AccountMeta::writable(self.mint),
            AccountMeta::writable_signer(*event_account),
            AccountMeta::readonly(MESSAGE_TRANSMITTER),
            AccountMeta::readonly(TOKEN_MESSENGER_MINTER),
            AccountMeta::readonly(TOKEN),
            AccountMeta::readonly(SYSTEM),
            AccountMeta::readonly(minter(&[b"__event_authority"])?),
            AccountMeta::readonly(TOKEN_MESSENGER_MINTER),
        ];
        let mut data = DEPOSIT_FOR_BURN.to_vec();
        data.extend(self.amount.to_le_bytes());
        data.extend(DOMAIN_BASE.to_le_bytes());
        data.extend(evm_word(&self.recipient));
        // Destination caller zero: any account may submit the mint, so any gas key can complete it.
        data.extend([0; 32]);
        data.extend(self.max_fee.to_le_bytes());
        data.extend(self.min_finality_threshold.to_le_bytes());
        Some(Instruction {
            program: TOKEN_MESSENGER_MINTER,
            accounts,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest as _, Sha256};

    use super::super::THRESHOLD_FAST;
    use super::super::vectors::{BURN, BURN_ACCOUNTS, BURN_DATA};
    use super::*;
    use crate::solana::address::{USDC_MAINNET, base58};
    use crate::solana::draft::Draft;
    use crate::solana::keypair::Keypair;
    use crate::solana::message::Version;
    use crate::solana::token::{set_compute_unit_limit, set_compute_unit_price};
    use crate::solana::transaction::{Transaction, sign};

    fn key(seed: u8) -> Keypair {
        Keypair::from_seed(&[seed; 32])
    }

    fn order() -> BurnOrder {
        BurnOrder {
            owner: key(3).address(),
            mint: USDC_MAINNET,
            recipient: [0xaa; 20],
            amount: 5_000_500,
            max_fee: 500,
            min_finality_threshold: THRESHOLD_FAST,
        }
    }

    #[test]
    fn the_instruction_equals_circles_idl_byte_by_byte() {
        let instruction = order().instruction(&key(1).address(), &key(4).address()).unwrap();
        assert_eq!(hex::encode(&instruction.data), BURN_DATA);
        let accounts: Vec<(String, bool, bool)> = instruction
            .accounts
            .iter()
            .map(|account| (base58(&account.key), account.signer, account.writable))
            .collect();
        assert_eq!(
            accounts,
            BURN_ACCOUNTS.map(|(key, signer, writable)| (key.to_owned(), signer, writable))
        );
        assert_eq!(Sha256::digest(b"global:deposit_for_burn")[..8], DEPOSIT_FOR_BURN);
    }

    #[test]
    fn the_signed_burn_equals_that_of_kit() {
        let draft = Draft {
            fee_payer: key(1).address(),
            blockhash: [9; 32],
            instructions: vec![
                set_compute_unit_limit(200_000),
                set_compute_unit_price(1000),
                order().instruction(&key(1).address(), &key(4).address()).unwrap(),
            ],
            version: Version::V0,
        };
        let signed = sign(&draft, &[&key(1), &key(3), &key(4)]).unwrap();
        assert_eq!(STANDARD.encode(signed.bytes), BURN);
    }

    #[test]
    fn a_burn_is_read_back_from_its_transaction() {
        // Checks: a transaction signed by kit parses as the order it was made from. Another call of the program is not
        // a burn.
        let bytes = STANDARD.decode(BURN).unwrap();
        let message = Transaction::parse(&bytes).unwrap().message;
        let sent = SentBurn {
            order: order(),
            event_account: key(4).address(),
            rent_payer: key(1).address(),
        };
        assert_eq!(SentBurn::from_message(&message), Some(sent));
        let good = order().instruction(&key(1).address(), &key(4).address()).unwrap();
        let read = |instructions: Vec<Instruction>| {
            let draft = Draft {
                fee_payer: key(1).address(),
                blockhash: [9; 32],
                instructions,
                version: Version::V0,
            };
            let message = draft.compile().unwrap().message;
            SentBurn::from_message(&Message::parse(&message).unwrap())
        };
        assert_eq!(read(vec![good.clone()]), Some(sent));
        assert_eq!(read(vec![set_compute_unit_limit(1)]), None);
        assert_eq!(read(vec![good.clone(), good.clone()]), None, "two burns");
        // Discriminator, domain, padding of the recipient, destination caller.
        for offset in [0, 16, 20, 52] {
            let mut other = good.clone();
            other.data[offset] ^= 1;
            assert_eq!(read(vec![other]), None, "{offset}");
        }
        let mut longer = good.clone();
        longer.data.push(0);
        assert_eq!(read(vec![longer]), None);
        let mut fewer = good;
        fewer.accounts.pop();
        assert_eq!(read(vec![fewer]), None);
    }

    #[test]
    fn rates_are_exact_decimals() {
        let cases = [
            ("0", Some(0)),
            ("1", Some(10_000)),
            ("1.3", Some(13_000)),
            ("0.0001", Some(1)),
            ("14", Some(140_000)),
            ("9999.9999", Some(99_999_999)),
            ("10000", None),
            ("1.23456", None),
            ("-1", None),
            ("1e2", None),
            ("", None),
            (".5", None),
            ("5.", None),
            ("1,3", None),
        ];
        for (text, rate) in cases {
            assert_eq!(FeeRate::parse_basis_points(text), rate.map(FeeRate), "{text}");
        }
    }

    #[test]
    fn the_smallest_burn_of_which_enough_arrives() {
        let rate = |text| FeeRate::parse_basis_points(text).unwrap();
        let cases = [
            (5_000_000, FeeRate::ZERO, 5_000_000, 0),
            (5_000_000, rate("1"), 5_000_501, 501),
            (1, rate("1"), 2, 1),
            (1_000_000_000, rate("1.3"), 1_000_130_017, 130_017),
            (1, rate("9999"), 10_000, 9_999),
        ];
        for (arrives, rate, amount, max_fee) in cases {
            assert_eq!(
                BurnAmounts::for_arrival(arrives, rate),
                Some(BurnAmounts { amount, max_fee }),
                "{arrives}"
            );
        }
        assert_eq!(BurnAmounts::for_arrival(0, FeeRate::ZERO), None);
        assert_eq!(BurnAmounts::for_arrival(u64::MAX, rate("1")), None);
        // For many amounts and rates: the limit covers the fee, and one unit less does not.
        for arrives in (1..2_000_000).step_by(7_919) {
            for bps in ["0", "0.0001", "1", "1.3", "14", "250", "9999.9999"] {
                let rate = rate(bps).with_buffer(20);
                let Some(burn) = BurnAmounts::for_arrival(arrives, rate) else {
                    panic!("{arrives} at {bps}")
                };
                assert!(rate.fee_on(burn.amount) <= burn.max_fee && burn.max_fee < burn.amount);
                assert_eq!(burn.amount - burn.max_fee, arrives);
                assert!(
                    burn.amount - 1 - rate.fee_on(burn.amount - 1) < arrives,
                    "{arrives} at {bps}"
                );
            }
        }
    }
}

//! Instructions of a USDC payment (compute budget, SPL Token, associated token account, memo), their encoding and
//! decoding, and the state of token accounts. Layouts: solana-program/token and solana-program/compute-budget.

use super::address::{ASSOCIATED_TOKEN, COMPUTE_BUDGET, MEMO, Pubkey, SYSTEM, TOKEN, associated_token_account};
use super::draft::{AccountMeta, Instruction};

/// USDC's decimals, which `TransferChecked` repeats.
pub const USDC_DECIMALS: u8 = 6;

/// Bytes of a token account; its rent is the smallest balance for this size.
pub const TOKEN_ACCOUNT_BYTES: u64 = 165;

const SET_UNIT_LIMIT: u8 = 2;
const SET_UNIT_PRICE: u8 = 3;
const TRANSFER: u8 = 3;
const MINT_TO: u8 = 7;
const BURN: u8 = 8;
const TRANSFER_CHECKED: u8 = 12;
const MINT_TO_CHECKED: u8 = 14;
const BURN_CHECKED: u8 = 15;
const BATCH: u8 = 255;
const CREATE_IDEMPOTENT: u8 = 1;

/// Sets the maximum number of compute units of the transaction.
pub fn set_compute_unit_limit(units: u32) -> Instruction {
    Instruction {
        program: COMPUTE_BUDGET,
        accounts: Vec::new(),
        data: [&[SET_UNIT_LIMIT][..], &units.to_le_bytes()].concat(),
    }
}

/// Sets the price of a compute unit in micro-lamports (10^-6 lamports).
pub fn set_compute_unit_price(micro_lamports: u64) -> Instruction {
    Instruction {
        program: COMPUTE_BUDGET,
        accounts: Vec::new(),
        data: [&[SET_UNIT_PRICE][..], &micro_lamports.to_le_bytes()].concat(),
    }
}

/// Writes a text to the transaction's log. Needs no signer.
pub fn memo(text: &str) -> Instruction {
    Instruction {
        program: MEMO,
        accounts: Vec::new(),
        data: text.as_bytes().to_vec(),
    }
}

/// A transfer between two token accounts. `amount` is in atomic units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferChecked {
    /// Token account that is debited.
    pub source: Pubkey,
    /// Mint of both accounts.
    pub mint: Pubkey,
    /// Token account that is credited.
    pub destination: Pubkey,
    /// Owner or delegate of the source; signs.
    pub authority: Pubkey,
    /// Amount in atomic units.
    pub amount: u64,
    /// Must equal the decimals of the mint.
    pub decimals: u8,
}

impl TransferChecked {
    /// A USDC transfer between the associated token accounts of two owners. `None` if an account cannot be derived.
    pub fn between(from: &Pubkey, to: &Pubkey, mint: &Pubkey, amount: u64) -> Option<Self> {
        Some(Self {
            source: associated_token_account(from, mint)?,
            mint: *mint,
            destination: associated_token_account(to, mint)?,
            authority: *from,
            amount,
            decimals: USDC_DECIMALS,
        })
    }

    pub fn instruction(&self) -> Instruction {
        Instruction {
            program: TOKEN,
            accounts: vec![
                AccountMeta::writable(self.source),
                AccountMeta::readonly(self.mint),
                AccountMeta::writable(self.destination),
                AccountMeta::signer(self.authority),
            ],
            data: [&[TRANSFER_CHECKED][..], &self.amount.to_le_bytes(), &[self.decimals]].concat(),
        }
    }
}

/// Creates the associated token account of `owner` unless it exists; `payer` pays its rent. `None` if the account
/// cannot be derived.
pub fn create_associated_token_account(payer: &Pubkey, owner: &Pubkey, mint: &Pubkey) -> Option<Instruction> {
    Some(Instruction {
        program: ASSOCIATED_TOKEN,
        accounts: vec![
            AccountMeta::writable_signer(*payer),
            AccountMeta::writable(associated_token_account(owner, mint)?),
            AccountMeta::readonly(*owner),
            AccountMeta::readonly(*mint),
            AccountMeta::readonly(SYSTEM),
            AccountMeta::readonly(TOKEN),
        ],
        data: vec![CREATE_IDEMPOTENT],
    })
}

/// An instruction of a payment, decoded strictly: exact data length and exact number of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PaymentInstruction<'a> {
    /// `SetComputeUnitLimit`, in units.
    UnitLimit(u32),
    /// `SetComputeUnitPrice`, in micro-lamports a unit.
    UnitPrice(u64),
    /// `TransferChecked` of SPL Token with a single authority.
    Transfer(TransferChecked),
    /// A memo's bytes; validators require UTF-8.
    Memo(&'a [u8]),
    /// `CreateIdempotent` of the associated token account program for SPL Token.
    CreateAccount {
        /// The account that pays the rent.
        payer: Pubkey,
        /// The created account.
        account: Pubkey,
        /// Owner of the created account.
        owner: Pubkey,
        /// Mint of the created account.
        mint: Pubkey,
    },
}

impl<'a> PaymentInstruction<'a> {
    /// Decodes a call. `None` for any other instruction.
    pub fn decode(program: &Pubkey, accounts: &[&Pubkey], data: &'a [u8]) -> Option<Self> {
        match (*program, accounts, data) {
            (COMPUTE_BUDGET, _, [SET_UNIT_LIMIT, units @ ..]) => {
                Some(Self::UnitLimit(u32::from_le_bytes(units.try_into().ok()?)))
            }
            (COMPUTE_BUDGET, _, [SET_UNIT_PRICE, price @ ..]) => {
                Some(Self::UnitPrice(u64::from_le_bytes(price.try_into().ok()?)))
            }
            (TOKEN, &[&source, &mint, &destination, &authority], [TRANSFER_CHECKED, amount @ .., decimals]) => {
                Some(Self::Transfer(TransferChecked {
                    source,
                    mint,
                    destination,
                    authority,
                    amount: u64::from_le_bytes(amount.try_into().ok()?),
                    decimals: *decimals,
                }))
            }
            (MEMO, _, text) => Some(Self::Memo(text)),
            (ASSOCIATED_TOKEN, &[&payer, &account, &owner, &mint, &SYSTEM, &TOKEN], [CREATE_IDEMPOTENT]) => {
                Some(Self::CreateAccount {
                    payer,
                    account,
                    owner,
                    mint,
                })
            }
            _ => None,
        }
    }
}

/// What an SPL Token instruction does to balances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenMovement {
    /// Position within a `Batch` instruction; `None` outside one.
    pub batch: Option<u8>,
    /// Token account that is debited; `None` for a mint.
    pub source: Option<Pubkey>,
    /// Token account that is credited; `None` for a burn.
    pub destination: Option<Pubkey>,
    /// Owner, delegate or mint authority.
    pub authority: Pubkey,
    /// Amount in atomic units.
    pub amount: u64,
}

/// The token movements of an executed SPL Token instruction: transfers, mints and burns, checked or not. Includes those
/// inside the `Batch` instruction of the current program. Like the program, ignores trailing data and further accounts.
pub fn token_movements(accounts: &[Pubkey], data: &[u8]) -> Vec<TokenMovement> {
    let [BATCH, entries @ ..] = data else {
        return token_movement(None, accounts, data).into_iter().collect();
    };
    let (mut accounts, mut rest, mut movements, mut position) = (accounts, entries, Vec::new(), 0u8);
    // Each entry: number of accounts, number of data bytes, data. The accounts are consumed in order.
    while let [account_count, data_length, tail @ ..] = rest {
        let (Some((own, other)), Some((data, tail))) = (
            accounts.split_at_checked(usize::from(*account_count)),
            tail.split_at_checked(usize::from(*data_length)),
        ) else {
            break;
        };
        movements.extend(token_movement(Some(position), own, data));
        (accounts, rest, position) = (other, tail, position.saturating_add(1));
    }
    movements
}

fn token_movement(batch: Option<u8>, accounts: &[Pubkey], data: &[u8]) -> Option<TokenMovement> {
    let (kind, rest) = data.split_first()?;
    let amount = || Some(u64::from_le_bytes(*rest.first_chunk()?));
    let account = |index: usize| accounts.get(index).copied();
    let (source, destination, authority) = match *kind {
        TRANSFER => (Some(account(0)?), Some(account(1)?), account(2)?),
        TRANSFER_CHECKED => (Some(account(0)?), Some(account(2)?), account(3)?),
        MINT_TO | MINT_TO_CHECKED => (None, Some(account(1)?), account(2)?),
        BURN | BURN_CHECKED => (Some(account(0)?), None, account(2)?),
        _ => return None,
    };
    Some(TokenMovement {
        batch,
        source,
        destination,
        authority,
        amount: amount()?,
    })
}

/// State of an SPL token account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenAccount {
    /// Mint of the account.
    pub mint: Pubkey,
    /// Owner of the account.
    pub owner: Pubkey,
    /// Balance in atomic units.
    pub amount: u64,
    /// Whether the mint's freeze authority has frozen it: it can neither send nor receive.
    pub frozen: bool,
}

impl TokenAccount {
    /// Parses an initialised account of exactly 165 bytes; `None` for any other data.
    pub fn parse(data: &[u8]) -> Option<Self> {
        if data.len() as u64 != TOKEN_ACCOUNT_BYTES {
            return None;
        }
        let frozen = match data[108] {
            1 => false,
            2 => true,
            _ => return None,
        };
        Some(Self {
            mint: *data.first_chunk()?,
            owner: *data[32..].first_chunk()?,
            amount: u64::from_le_bytes(*data[64..].first_chunk()?),
            frozen,
        })
    }
}

/// Decimals of an initialised SPL mint of exactly 82 bytes; `None` for any other data.
pub fn mint_decimals(data: &[u8]) -> Option<u8> {
    (data.len() == 82 && data[45] == 1).then(|| data[44])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use crate::solana::address::USDC_MAINNET;

    fn key(byte: u8) -> Pubkey {
        [byte; 32]
    }

    #[test]
    fn encoded_instructions_decode_to_themselves() {
        let transfer = TransferChecked::between(&key(2), &key(3), &USDC_MAINNET, u64::MAX).unwrap();
        let create = create_associated_token_account(&key(1), &key(3), &USDC_MAINNET).unwrap();
        let cases = [
            (set_compute_unit_limit(20_000), PaymentInstruction::UnitLimit(20_000)),
            (
                set_compute_unit_price(u64::MAX),
                PaymentInstruction::UnitPrice(u64::MAX),
            ),
            (transfer.instruction(), PaymentInstruction::Transfer(transfer)),
            (memo("order 7"), PaymentInstruction::Memo(b"order 7")),
            (
                create,
                PaymentInstruction::CreateAccount {
                    payer: key(1),
                    account: associated_token_account(&key(3), &USDC_MAINNET).unwrap(),
                    owner: key(3),
                    mint: USDC_MAINNET,
                },
            ),
        ];
        for (instruction, expected) in cases {
            let accounts: Vec<&Pubkey> = instruction.accounts.iter().map(|account| &account.key).collect();
            let decoded = PaymentInstruction::decode(&instruction.program, &accounts, &instruction.data);
            assert_eq!(decoded, Some(expected));
            if instruction.program != MEMO {
                for data in [
                    &instruction.data[..instruction.data.len() - 1],
                    &[&instruction.data[..], &[0]].concat(),
                ] {
                    assert_eq!(
                        PaymentInstruction::decode(&instruction.program, &accounts, data),
                        None,
                        "{data:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn movements_of_each_token_instruction() {
        let accounts = [key(1), key(2), key(3), key(4)];
        let data = |kind: u8| [&[kind][..], &9u64.to_le_bytes(), &[6, 0]].concat();
        let moved = |source: Option<u8>, destination: Option<u8>, authority: u8| {
            vec![TokenMovement {
                batch: None,
                source: source.map(key),
                destination: destination.map(key),
                authority: key(authority),
                amount: 9,
            }]
        };
        let cases = [
            (TRANSFER, moved(Some(1), Some(2), 3)),
            (TRANSFER_CHECKED, moved(Some(1), Some(3), 4)),
            (MINT_TO, moved(None, Some(2), 3)),
            (MINT_TO_CHECKED, moved(None, Some(2), 3)),
            (BURN, moved(Some(1), None, 3)),
            (BURN_CHECKED, moved(Some(1), None, 3)),
            (4, vec![]),
        ];
        for (kind, expected) in cases {
            assert_eq!(token_movements(&accounts, &data(kind)), expected, "{kind}");
        }
        assert!(token_movements(&accounts[..2], &data(TRANSFER)).is_empty());
        assert!(token_movements(&accounts, &[TRANSFER, 1, 2]).is_empty());
        assert!(token_movements(&accounts, &[]).is_empty());
    }

    #[test]
    fn a_batch_names_each_of_its_transfers() {
        // Checks: positions count every entry of the batch, including those that move nothing. A truncated batch ends
        // without an error.
        let accounts = [key(1), key(2), key(3), key(9), key(1), key(5), key(2), key(3)];
        let transfer = [&[TRANSFER][..], &7u64.to_le_bytes()].concat();
        let checked = [&[TRANSFER_CHECKED][..], &8u64.to_le_bytes(), &[6]].concat();
        let mut data = vec![BATCH, 3, 9];
        data.extend(&transfer);
        data.extend([1, 1, 17]);
        data.extend([4, 10]);
        data.extend(&checked);
        let expected = [
            (Some(0), Some(key(1)), Some(key(2)), key(3), 7),
            (Some(2), Some(key(1)), Some(key(2)), key(3), 8),
        ]
        .map(|(batch, source, destination, authority, amount)| TokenMovement {
            batch,
            source,
            destination,
            authority,
            amount,
        });
        assert_eq!(token_movements(&accounts, &data), expected);
        assert_eq!(token_movements(&accounts, &data[..data.len() - 1]), expected[..1]);
    }

    #[test]
    fn token_account_state() {
        let mut data = vec![0; 165];
        data[..32].copy_from_slice(&USDC_MAINNET);
        data[32..64].copy_from_slice(&key(7));
        data[64..72].copy_from_slice(&5u64.to_le_bytes());
        assert_eq!(TokenAccount::parse(&data), None, "not initialised");
        for (state, frozen) in [(1, false), (2, true)] {
            data[108] = state;
            let expected = TokenAccount {
                mint: USDC_MAINNET,
                owner: key(7),
                amount: 5,
                frozen,
            };
            assert_eq!(TokenAccount::parse(&data), Some(expected));
        }
        assert_eq!(TokenAccount::parse(&data[..164]), None);
        data.push(2);
        assert_eq!(TokenAccount::parse(&data), None, "Token-2022 with extensions");
    }
}

//! The fees of a transaction, computed from its message alone.

use super::address::COMPUTE_BUDGET;
use super::message::Message;
use super::token::PaymentInstruction;

/// Base fee of one signature in lamports.
pub const LAMPORTS_PER_SIGNATURE: u64 = 5000;

/// Maximum compute units of a transaction; higher limits are reduced to this.
pub const MAX_UNITS: u32 = 1_400_000;

/// Units per instruction if the transaction sets no limit.
const DEFAULT_UNITS_PER_INSTRUCTION: u32 = 200_000;

/// Default cap of the priority fee, in lamports.
pub const DEFAULT_PRIORITY_FEE_CAP: u64 = 20_000;

/// Cost of a transaction for its fee payer, in lamports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Base fee: 5,000 per signature.
    pub base: u64,
    /// Priority fee: unit limit × unit price, rounded up to a lamport.
    pub priority: u64,
    /// Rent of accounts that the transaction creates at the fee payer's expense. The caller sets it; [`fees_for`]
    /// returns 0.
    pub rent: u64,
}

impl Fees {
    /// Base and priority fee: also charged if the transaction fails on chain.
    pub const fn charged(&self) -> u64 {
        self.base.saturating_add(self.priority)
    }

    /// The total: maximum charge, if the transaction succeeds.
    pub const fn at_most(&self) -> u64 {
        self.charged().saturating_add(self.rent)
    }
}

/// Why the fees cannot be computed: the runtime rejects the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeeError {
    /// Unit limit or price is set twice.
    #[error("the transaction sets its compute budget twice")]
    Duplicate,
    /// An instruction of the compute budget program is malformed, or Purser does not accept it.
    #[error("the transaction has an unknown compute budget instruction")]
    Unknown,
}

/// Priority fee in lamports: `units` × `micro_lamports`, rounded up. Saturates at `u64::MAX`.
pub fn priority_fee(units: u32, micro_lamports: u64) -> u64 {
    let micro = u128::from(units.min(MAX_UNITS)) * u128::from(micro_lamports);
    u64::try_from(micro.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// The fees of a message without lookup tables and without signature-verifying programs, which cost extra.
///
/// # Errors
/// See [`FeeError`].
pub fn fees_for(message: &Message<'_>) -> Result<Fees, FeeError> {
    let (mut units, mut price, mut others) = (None, None, 0u32);
    for instruction in &message.instructions {
        let Some(program) = message.program(instruction) else {
            return Err(FeeError::Unknown);
        };
        if *program != COMPUTE_BUDGET {
            others = others.saturating_add(1);
            continue;
        }
        let twice = match PaymentInstruction::decode(program, &[], instruction.data) {
            Some(PaymentInstruction::UnitLimit(limit)) => units.replace(limit).is_some(),
            Some(PaymentInstruction::UnitPrice(micro_lamports)) => price.replace(micro_lamports).is_some(),
            _ => return Err(FeeError::Unknown),
        };
        if twice {
            return Err(FeeError::Duplicate);
        }
    }
    let units = units.unwrap_or_else(|| others.saturating_mul(DEFAULT_UNITS_PER_INSTRUCTION));
    Ok(Fees {
        base: LAMPORTS_PER_SIGNATURE * u64::from(message.header.required_signatures),
        priority: priority_fee(units, price.unwrap_or(0)),
        rent: 0,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use super::*;
    use crate::solana::draft::{Draft, Instruction};
    use crate::solana::message::Version;
    use crate::solana::token::{memo, set_compute_unit_limit, set_compute_unit_price};

    #[test]
    fn priority_fees_round_up() {
        let cases = [
            (20_000, 1, 1),
            (0, u64::MAX, 0),
            (200_000, 5_000_000, 1_000_000),
            (1_000_000, 1, 1),
            (1_000_001, 1, 2),
            (u32::MAX, 1_000_000, u64::from(MAX_UNITS)),
            (MAX_UNITS, u64::MAX, u64::MAX),
        ];
        for (units, price, lamports) in cases {
            assert_eq!(priority_fee(units, price), lamports, "{units} × {price}");
        }
    }

    #[test]
    fn fees_of_messages() {
        let unknown = Instruction {
            program: COMPUTE_BUDGET,
            accounts: Vec::new(),
            data: vec![2, 1],
        };
        let (limit, price) = (set_compute_unit_limit(20_000), set_compute_unit_price(1_000_000));
        let fees = |priority| {
            Ok(Fees {
                base: 5000,
                priority,
                rent: 0,
            })
        };
        let cases = [
            (vec![limit.clone(), price.clone(), memo("x")], fees(20_000)),
            (vec![limit.clone(), memo("x")], fees(0)),
            (vec![price.clone(), memo("x"), memo("y")], fees(400_000)),
            (vec![limit.clone(), limit.clone()], Err(FeeError::Duplicate)),
            (vec![price.clone(), limit, price], Err(FeeError::Duplicate)),
            (vec![unknown], Err(FeeError::Unknown)),
        ];
        for (instructions, expected) in cases {
            let draft = Draft {
                fee_payer: [1; 32],
                blockhash: [9; 32],
                instructions,
                version: Version::V0,
            };
            let compiled = draft.compile().unwrap();
            assert_eq!(fees_for(&Message::parse(&compiled.message).unwrap()), expected);
        }
    }
}

//! Settlement batches: Multicall3 `aggregate3` with `allowFailure`, and how a failed batch is divided.

mod batches;
#[cfg(test)]
mod tests;

use alloy_primitives::{Address, Bytes, U256, address};
use alloy_sol_types::{SolCall as _, SolValue as _};

pub use batches::{Candidate, GasSettings, Group, Stage, after_failure, plan};

/// Address of Multicall3, the same on every chain.
pub const MULTICALL3: Address = address!("cA11bde05977b3631167028862bE2a173976CA11");
/// Maximum number of calls in one transaction.
pub const MAX_CALLS: usize = 200;
/// Maximum gas limit of one transaction; Base accepts 2^24 (EIP-7825).
pub const MAX_GAS: u64 = 16_000_000;

mod abi {
    #![allow(missing_docs, reason = "generated; the contract is Multicall3")]

    alloy_sol_types::sol! {
        struct Call3 {
            address target;
            bool allowFailure;
            bytes callData;
        }

        struct Result3 {
            bool success;
            bytes returnData;
        }

        function aggregate3(Call3[] calls) external payable returns (Result3[] returnData);
    }
}

/// One call of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchCall {
    /// Address of the contract.
    pub target: Address,
    pub data: Bytes,
}

/// Result of one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// False if it reverted; the other calls are not affected.
    pub success: bool,
    /// The data that the call returned, or its revert data.
    pub data: Bytes,
}

/// Why there is no batch or no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// No calls, or more than 200.
    #[error("a batch has 1 to {MAX_CALLS} calls, not {0}")]
    Size(usize),
    /// Not the ABI encoding of one result per call.
    #[error("malformed result of a batch")]
    Malformed,
}

/// Calldata of `aggregate3`. A call that reverts does not revert the others.
///
/// # Errors
/// [`BatchError::Size`].
pub fn encode(calls: &[BatchCall]) -> Result<Vec<u8>, BatchError> {
    if !(1..=MAX_CALLS).contains(&calls.len()) {
        return Err(BatchError::Size(calls.len()));
    }
    let calls = calls.iter().map(|call| abi::Call3 {
        target: call.target,
        allowFailure: true,
        callData: call.data.clone(),
    });
    Ok(abi::aggregate3Call { calls: calls.collect() }.abi_encode())
}

/// Decodes the result of `aggregate3` for this number of calls, in their order.
///
/// # Errors
/// [`BatchError::Malformed`].
pub fn decode(data: &[u8], calls: usize) -> Result<Vec<CallResult>, BatchError> {
    let results = abi::aggregate3Call::abi_decode_returns_validate(data).map_err(|_| BatchError::Malformed)?;
    if results.len() != calls {
        return Err(BatchError::Malformed);
    }
    let result = |result: abi::Result3| CallResult {
        success: result.success,
        data: result.returnData,
    };
    Ok(results.into_iter().map(result).collect())
}

/// The text of `Error(string)` in revert data, at most 512 bytes of it, or the code of `Panic(uint256)`. `None` for any
/// other data.
pub fn revert_reason(data: &[u8]) -> Option<String> {
    const ERROR: [u8; 4] = [0x08, 0xc3, 0x79, 0xa0];
    const PANIC: [u8; 4] = [0x4e, 0x48, 0x7b, 0x71];
    let (selector, fields) = data.split_first_chunk::<4>()?;
    match *selector {
        ERROR => String::abi_decode_validate(fields)
            .ok()
            .map(|text| crate::rpc::bounded(&text)),
        PANIC => U256::abi_decode_validate(fields)
            .ok()
            .map(|code| format!("Panic({code})")),
        _ => None,
    }
}

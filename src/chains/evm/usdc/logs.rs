//! Logs of USDC.

use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_sol_types::SolEvent as _;

use super::abi::FiatToken::{AuthorizationCanceled, AuthorizationUsed, Transfer};

/// First topics of the logs that [`movements`] reads.
pub const TOPICS: [B256; 3] = [
    Transfer::SIGNATURE_HASH,
    AuthorizationUsed::SIGNATURE_HASH,
    AuthorizationCanceled::SIGNATURE_HASH,
];

/// A log as a node reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Address of the contract.
    pub address: Address,
    /// Topics, at most four; the first one identifies the event.
    pub topics: Vec<B256>,
    /// ABI-encoded fields that are not indexed.
    pub data: Bytes,
    /// Height of the block.
    pub block_number: u64,
    /// Hash of the block.
    pub block_hash: B256,
    /// Hash of the transaction.
    pub transaction: B256,
    /// Index of the log within the block, from 0.
    pub log_index: u64,
}

/// Identifies a transfer by its transaction and the index of its log within the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferRef {
    /// Hash of the transaction.
    pub transaction: B256,
    /// Index within the block of the `Transfer` or `AuthorizationCanceled` log, from 0.
    pub log_index: u64,
}

/// A transfer of USDC, or the cancellation of an authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Movement {
    /// Reference of the transfer.
    pub reference: TransferRef,
    /// Height of the block that contains it.
    pub block_number: u64,
    /// Hash of the block that contains it.
    pub block_hash: B256,
    /// The reported event.
    pub kind: MovementKind,
}

/// Event reported by USDC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MovementKind {
    /// Tokens moved. A mint comes from the zero address; a burn goes to it.
    Transfer {
        /// The paying address.
        from: Address,
        /// The receiving address.
        to: Address,
        /// Amount in base units.
        value: U256,
        /// Nonce of the EIP-3009 authorization; `None` for any other transfer.
        authorization: Option<B256>,
    },
    /// An authorization was cancelled by its payer: it can never settle.
    Canceled {
        /// The payer of the authorization.
        authorizer: Address,
        /// Nonce of the authorization.
        nonce: B256,
    },
}

/// An `AuthorizationUsed` log without the `Transfer` log that USDC emits right after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("AuthorizationUsed at log {} of {} is not followed by its Transfer", .0.log_index, .0.transaction)]
pub struct UnpairedAuthorization(pub TransferRef);

/// The transfers and cancellations among the logs of one block, in their order. Logs of other contracts and other
/// events are skipped.
///
/// # Errors
/// [`UnpairedAuthorization`]: the list is incomplete. No transfer is then returned: a payment would look like a plain
/// transfer.
pub fn movements(token: Address, logs: &[Log]) -> Result<Vec<Movement>, UnpairedAuthorization> {
    let mut ordered: Vec<&Log> = logs.iter().filter(|log| log.address == token).collect();
    ordered.sort_by_key(|log| log.log_index);
    let mut found = Vec::with_capacity(ordered.len());
    let mut used: Option<(TransferRef, AuthorizationUsed)> = None;
    for log in ordered {
        let reference = TransferRef {
            transaction: log.transaction,
            log_index: log.log_index,
        };
        let topics = || log.topics.iter().copied();
        let mut push = |kind| {
            found.push(Movement {
                reference,
                block_number: log.block_number,
                block_hash: log.block_hash,
                kind,
            });
        };
        let transfer = Transfer::decode_raw_log_validate(topics(), &log.data).ok();
        if let Some((at, authorization)) = used.take() {
            match &transfer {
                Some(transfer) if follows(at, reference) && transfer.from == authorization.authorizer => {
                    push(movement(transfer, Some(authorization.nonce)));
                    continue;
                }
                _ => return Err(UnpairedAuthorization(at)),
            }
        }
        if let Some(transfer) = transfer {
            push(movement(&transfer, None));
        } else if let Ok(event) = AuthorizationUsed::decode_raw_log_validate(topics(), &log.data) {
            used = Some((reference, event));
        } else if let Ok(event) = AuthorizationCanceled::decode_raw_log_validate(topics(), &log.data) {
            push(MovementKind::Canceled {
                authorizer: event.authorizer,
                nonce: event.nonce,
            });
        }
    }
    match used {
        Some((at, _)) => Err(UnpairedAuthorization(at)),
        None => Ok(found),
    }
}

fn follows(first: TransferRef, second: TransferRef) -> bool {
    first.transaction == second.transaction && first.log_index.checked_add(1) == Some(second.log_index)
}

const fn movement(transfer: &Transfer, authorization: Option<B256>) -> MovementKind {
    MovementKind::Transfer {
        from: transfer.from,
        to: transfer.to,
        value: transfer.value,
        authorization,
    }
}

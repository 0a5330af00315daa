//! What was said for a spend, beside its snapshot: sealed, since it may hold somebody's secrets, and in pieces, since a row's
//! size is bounded and what servers answer is larger.

use crate::id::WalletPaymentId;
use crate::kernel::{Decision, Entity, table};

/// One part of what was said. The number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HttpRecordPart {
    /// Method, address, body and the server's terms.
    Request = 0,
    /// The value of `PAYMENT-SIGNATURE`.
    PaymentHeader = 1,
    /// The body of the server's answer.
    Response = 2,
}

/// Bytes of a piece; a row takes a little more.
const CHUNK_BYTES: usize = 12 * 1024;

impl HttpRecordPart {
    /// Adds the part's rows to a decision.
    pub(crate) fn put<E: Entity>(self, spend: WalletPaymentId, sealed: &[u8], decided: Decision<E>) -> Decision<E> {
        let pieces = sealed.chunks(CHUNK_BYTES).zip(0..);
        pieces.fold(decided, |decided, (piece, n)| {
            decided.put(table::http_record_chunk(spend, self as u8, n), piece.to_vec())
        })
    }
}

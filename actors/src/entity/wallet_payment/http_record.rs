//! The HTTP record of a paid call, stored beside the wallet payment's snapshot. It is sealed, because it may contain
//! secrets. It is chunked, because a row's size is bounded and servers' responses are larger.

use crate::id::WalletPaymentId;
use crate::kernel::{Decision, Entity, table};

/// One part of an HTTP record. The number is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum HttpRecordPart {
    /// Method, address, body and the server's terms.
    Request = 0,
    /// Value of the `PAYMENT-SIGNATURE` header.
    PaymentHeader = 1,
    /// Body of the server's response.
    Response = 2,
}

/// Bytes of a chunk; a row needs a little more.
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

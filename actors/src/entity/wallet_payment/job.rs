//! Jobs of wallet payments.

use crate::id::WalletPaymentId;
use crate::jobs::{JobPolicy, LineDependency, OutgoingPurpose, Queue, jobs};
use crate::kernel::EntityId;

jobs! { WalletPayment:
    /// Sign and send a wallet payment, and follow it until it is confirmed or can never settle.
    27 SendWalletPayment(id: WalletPaymentId) = "send_wallet_payment" => JobPolicy {
        line: LineDependency::None,
        outgoing: Some(|key| WalletPaymentId::from_key(key).map(OutgoingPurpose::WalletPayment)),
        queue: Queue::OfKind,
        operator: None,
    };
    /// Delete the HTTP record of a wallet payment that has ended.
    39 PurgeHttpRecord(id: WalletPaymentId) = "purge_http_record" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

//! Jobs of agent wallets.

use crate::id::{Wallet, WalletPaymentId};
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { AgentWallet:
    /// Settle a reservation of an agent wallet.
    28 SettleWalletHold {
        /// Wallet payment that it was reserved for.
        payment: WalletPaymentId,
        /// Owner of the agent wallet.
        wallet: Wallet,
        /// Whether the money left the wallet.
        paid: bool,
    } = "settle_wallet_hold" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

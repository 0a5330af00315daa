//! Jobs of banking applications.

use crate::id::Wallet;
use crate::jobs::{JobPolicy, LineDependency, Queue, jobs};

jobs! { BankingApplication:
    /// Submit an application to the bank and poll its review.
    29 SubmitBankApplication(wallet: Wallet) = "submit_bank_application" => JobPolicy { line: LineDependency::None, outgoing: None, queue: Queue::OfKind, operator: None };
}

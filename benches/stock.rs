//! Paid calls of the service beside those of the published seller, `@x402/express` with its facilitator in the same process.
//! Neither has a chain: the service has its sandbox, which checks each payment a second time and stores it; the seller's
//! questions to a chain are answered at once, and it stores nothing.

use purser::system::SystemEntropy;
use purser::wallet::TestWallet;
use purser_actors::id::Network;

use crate::paid_server::PaidServer;
use crate::programs::Script;
use crate::report::{self, Row};
use crate::web::clients::TARGET;
use crate::web::process::Service;
use crate::{Fault, Plan, host_info};

const CONNECTIONS: usize = 64;
/// Of the seller's: more bring it no more.
const SELLER_CONNECTIONS: usize = 16;
const WALLETS: usize = 128;
/// The service's payments for each of the seller's, so that both rounds take about as long.
const FASTER: usize = 20;
/// Its facilitator's; without a chain it signs nothing.
const SELLER_KEY: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

const SELLER: &str = "@x402/express";
const SERVICE: &str = "service";

/// Measures and prints.
pub(crate) fn run(plan: Plan) -> Result<(), Fault> {
    // One thread for all clients: what they cost is the same for both.
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    client.block_on(measure(plan))
}

async fn measure(plan: Plan) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let service = Service::start(dir.path(), &[])?;
    let pay_to = TestWallet::create(&SystemEntropy)?.address(Network::Base);
    let seller = Script::start(
        "tests/interop",
        "express-server.mjs",
        &[SELLER_KEY, "no-chain", &pay_to],
    )?;
    let wallets = (0..WALLETS).map(|_| TestWallet::create(&SystemEntropy));
    let wallets: Vec<TestWallet> = wallets.collect::<Result<_, _>>()?;
    let of_seller = PaidServer {
        address: seller.first_line.parse()?,
        target: "/page",
        wallets: &wallets,
        connections: SELLER_CONNECTIONS,
        process: seller.id(),
    };
    let of_service = PaidServer {
        address: service.address,
        target: TARGET,
        connections: CONNECTIONS,
        process: service.id(),
        ..of_seller
    };
    let mut rows = [SELLER, SERVICE].map(Row::new);
    for round in 0..=plan.rounds {
        let samples = [
            of_seller.sell(plan.paid_calls / FASTER).await?,
            of_service.sell(plan.paid_calls).await?,
        ];
        if round > 0 {
            rows.iter_mut()
                .zip(samples)
                .for_each(|(row, sample)| row.samples.push(sample));
        }
    }
    let title = format!(
        "Paid calls without a chain: the service over {CONNECTIONS} connections, the seller over {SELLER_CONNECTIONS}"
    );
    report::print(&title, &rows, &[(SERVICE, &[SELLER])]);
    report::print_spread(&rows, &[(SERVICE, SELLER)]);
    Ok(())
}

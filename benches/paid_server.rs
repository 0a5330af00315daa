//! Servers that sell a page, driven alike: this service and the published packages.

use std::net::SocketAddr;

use purser::wallet::TestWallet;
use purser_actors::id::Network;

use crate::report::Sample;
use crate::web::clients::{request, required, sign_for};
use crate::web::driver::{self, Connection};
use crate::{Fault, host_info};

/// A server whose page is paid for, and where its challenge comes from.
pub(crate) struct PaidServer<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) target: &'static str,
    pub(crate) wallets: &'a [TestWallet],
    pub(crate) connections: usize,
    pub(crate) process: u32,
}

impl PaidServer<'_> {
    /// New payments, signed before the clock starts; every one must be answered with what it bought.
    pub(crate) async fn sell(&self, count: usize) -> Result<Sample, Fault> {
        let mut connection = Connection::open(self.address).await?;
        let challenge = connection.call(&request(self.address, self.target, "")).await?;
        let required = required(&challenge)?;
        let wallets = self.wallets.iter().cycle().take(count);
        let signed = wallets.map(|wallet| sign_for(self.address, self.target, wallet, (&required, Network::Base)));
        let signed: Vec<Vec<u8>> = signed.collect::<Result<_, _>>()?;
        let before = host_info::cpu_us(self.process);
        let calls = driver::drive(self.address, driver::spread(&signed, self.connections), 200).await?;
        let cpu = (host_info::cpu_us(self.process) - before) as f64 / count as f64;
        Ok(Sample {
            cpu,
            ..Sample::of(calls.latencies, calls.seconds, calls.seconds)
        })
    }
}

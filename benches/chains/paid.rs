//! Paid calls of `purser serve` in production, settled on anvil by a gas key of its own, beside those of the stock `@x402/express`
//! with its facilitator in the same process, settled on the same anvil.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use purser::system::SystemEntropy;
use purser::wallet::TestWallet;
use purser_actors::id::Network;
use serde_json::Value;
use toml::Table;

use super::base::Base;
use super::solana::SLOT_MS;
use crate::paid_server::PaidServer;
use crate::programs::Script;
use crate::report::{self, Row};
use crate::web::clients::request;
use crate::web::driver::Connection;
use crate::{Fault, Plan, host_info};

/// International cards, which need no provider.
const ORDER: &str = "/order-intl-card?amount=100";
/// Connections of the service's callers, each with one call in progress.
const CONNECTIONS: usize = 512;
/// Of the seller's: more bring it no more.
const STOCK_CONNECTIONS: usize = 16;
const WALLETS: usize = 256;
/// The key of the seller's facilitator.
const STOCK_KEY: &str = "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7f809";

/// As in the bench of the sandbox: what protects a service from its callers has tests of its own.
const SETTINGS: &str = r#"
[server]
listen = "127.0.0.1:0"
public_url = "https://pay.example"
[operator]
listen = "127.0.0.1:0"
[engine]
max_paid_calls_in_flight = 100000
max_paid_calls_per_payer = 100000
[limits]
requests_per_window = 1000000000
payments_per_window = 1000000000
[caps]
cards_per_day = 1000000000
card_usd_per_day = "1000000000"
[products]
usa_prepaid_card = { available = false }
gift_card = { available = false }
push_to_card = { available = false }
bank_payment = { available = false }
app_payment = { available = false }
card_balance = { available = false }
"#;

/// The service in production; killed when dropped.
struct Service {
    child: Child,
    address: SocketAddr,
    /// Where its figures are.
    operator: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Service {
    async fn start(base: &Base, solana: &Script) -> Result<Self, Fault> {
        let folder = host_info::directory()?;
        let keys = folder.path().join("keys");
        let mut settings: Table = purser(&[Path::new("keys"), Path::new("create"), &keys])?.parse()?;
        let printed = purser(&[Path::new("keys"), Path::new("create"), &keys, Path::new("--json")])?;
        let printed: Value = serde_json::from_str(&printed)?;
        let address = |pointer: &str| printed.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        base.fund_ether(address("/base/fees")).await;
        super::solana::fund_service(&solana.first_line, address("/solana/fees"), address("/solana/treasury")).await?;
        merge(&mut settings, SETTINGS.parse()?);
        for (chain, url) in [("base", &base.anvil.url), ("solana", &solana.first_line)] {
            let two = [url.clone(), url.replace("127.0.0.1", "localhost")];
            let endpoint = |url: &String| format!("{{ url = \"{url}\", rate = 100000, burst = 100000 }}");
            let two: Vec<String> = two.iter().map(endpoint).collect();
            merge(
                &mut settings,
                format!("[chains.{chain}]\nendpoints = [{}]", two.join(", ")).parse()?,
            );
        }
        let config = folder.path().join("purser.toml");
        std::fs::write(&config, settings.to_string())?;
        let data = folder.path().join("data");
        let mut child = Command::new(env!("CARGO_BIN_EXE_purser"))
            .arg("serve")
            .arg("--config")
            .arg(&config)
            .arg("--data")
            .arg(&data)
            .env("RUST_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()?;
        let mut lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let said = lines.by_ref().map_while(Result::ok);
        let mut addresses = said.filter_map(|line| Some(line.strip_prefix("It listens at http://")?.to_owned()));
        let address = addresses.next().ok_or("the service did not start")?;
        let address = address.split(' ').next().unwrap_or_default().parse()?;
        std::thread::spawn(move || lines.count());
        let operator = std::fs::read_to_string(data.join("operator.address"))?.trim().parse()?;
        Ok(Self {
            child,
            address,
            operator,
            _folder: folder,
        })
    }

    /// Calls of Base's endpoints so far.
    async fn calls(&self) -> Result<u64, Fault> {
        let mut connection = Connection::open(self.operator).await?;
        let page = connection.call(&request(self.operator, "/metrics", "")).await?;
        let page = String::from_utf8(page.body)?;
        let of_base = page
            .lines()
            .filter(|line| line.starts_with("purser_rpc_calls_total{network=\"base\""));
        let values = of_base.filter_map(|line| line.rsplit(' ').next());
        Ok(values.map(str::parse::<u64>).sum::<Result<u64, _>>()?)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn purser(arguments: &[&Path]) -> Result<String, Fault> {
    let run = Command::new(env!("CARGO_BIN_EXE_purser")).args(arguments).output()?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned().into());
    }
    Ok(String::from_utf8(run.stdout)?)
}

fn merge(into: &mut Table, from: Table) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

const STOCK: &str = "@x402/express";
const SERVICE: &str = "service";

/// Measures and prints.
pub(super) fn run(plan: Plan) -> Result<(), Fault> {
    // One thread for all clients, as in the bench of the sandbox.
    let client = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    client.block_on(measure(plan))
}

async fn measure(plan: Plan) -> Result<(), Fault> {
    let base = Base::start().await?;
    let solana = Script::start("benches/chains/solana", "start.mjs", &[SLOT_MS])?;
    let service = Service::start(&base, &solana).await?;
    let pay_to = TestWallet::create(&SystemEntropy)?.address(Network::Base);
    let facilitator = TestWallet::from_bytes(&hex::FromHex::from_hex(STOCK_KEY)?, &[1; 32])?;
    base.fund_ether(&facilitator.address(Network::Base)).await;
    let stock = Script::start(
        "tests/interop",
        "express-server.mjs",
        &[STOCK_KEY, &base.anvil.url, &pay_to],
    )?;
    let mut wallets = Vec::new();
    for _ in 0..WALLETS {
        let wallet = TestWallet::create(&SystemEntropy)?;
        base.fund_usdc(&wallet.address(Network::Base), 1 << 50).await;
        wallets.push(wallet);
    }
    let of_stock = PaidServer {
        address: stock.first_line.parse()?,
        target: "/page",
        wallets: &wallets,
        connections: STOCK_CONNECTIONS,
        process: stock.id(),
    };
    let of_service = PaidServer {
        address: service.address,
        target: ORDER,
        connections: CONNECTIONS,
        process: service.child.id(),
        ..of_stock
    };
    let mut rows = [STOCK, SERVICE].map(Row::new);
    let mut calls = Vec::new();
    for round in 0..=plan.rounds {
        let stock = of_stock.sell(plan.payments / 40).await?;
        let before = service.calls().await?;
        let own = of_service.sell(plan.payments).await?;
        let asked = (service.calls().await? - before) as f64 / plan.payments as f64;
        if round > 0 {
            rows.iter_mut()
                .zip([stock, own])
                .for_each(|(row, sample)| row.samples.push(sample));
            calls.push(asked);
        }
    }
    let (count, fewer) = (plan.payments, plan.payments / 40);
    let title = format!(
        "Paid calls settled on anvil: {count} of the service over {CONNECTIONS} connections, {fewer} of the seller over {STOCK_CONNECTIONS}"
    );
    report::print(&title, &rows, &[(SERVICE, &[STOCK])]);
    report::print_spread(&rows, &[(SERVICE, STOCK)]);
    println!(
        "  calls a payment: {:.3}, two endpoints",
        report::median(calls.into_iter())
    );
    Ok(())
}

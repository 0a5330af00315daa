//! Servers in processes of their own: the service as it is released, and stubs.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};

use super::clients::request;
use super::driver::{Connection, Response};
use crate::Fault;
use crate::cost::StoreCounts;

/// Nothing that protects a service from its callers may slow the measurement: those limits have tests of their own.
const SETTINGS: &str = r#"
[server]
listen = "127.0.0.1:0"
[operator]
listen = "127.0.0.1:0"
[storage]
segment_bytes = 134217728
[engine]
max_paid_calls_in_flight = 100000
max_paid_calls_per_payer = 100000
[limits]
requests_per_window = 1000000000
payments_per_window = 1000000000
[caps]
cards_per_day = 1000000000
card_usd_per_day = "1000000000"
[sandbox]
initial_balance_usdc = "1000000"
card_issue_delay_ms = 500
settlement_delay_ms = 0
"#;

/// A running `purser serve`; killed when dropped, as any process may be.
pub(crate) struct Service {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// Where its operator reads the metrics.
    pub(crate) operator: SocketAddr,
}

impl Service {
    /// Starts it on a data directory below `dir`, behind `before` (a tool that runs programs), and waits until it serves.
    pub(crate) fn start(dir: &Path, before: &[&str]) -> Result<Self, Fault> {
        Self::start_with(dir, before, &[])
    }

    /// The same with further settings.
    pub(crate) fn start_with(dir: &Path, before: &[&str], own: &[(&str, &str)]) -> Result<Self, Fault> {
        Self::start_program(Path::new(env!("CARGO_BIN_EXE_purser")), dir, before, own)
    }

    /// The same of another build.
    pub(crate) fn start_program(
        program: &Path,
        dir: &Path,
        before: &[&str],
        own: &[(&str, &str)],
    ) -> Result<Self, Fault> {
        let settings = dir.join("bench.toml");
        std::fs::write(&settings, SETTINGS)?;
        let mut command = match before.split_first() {
            Some((tool, arguments)) => {
                let mut command = Command::new(tool);
                command.args(arguments).arg(program);
                command
            }
            None => Command::new(program),
        };
        let mut child = command
            .arg("serve")
            .arg("--config")
            .arg(&settings)
            .arg("--data")
            .arg(dir.join("data"))
            .env("RUST_LOG", "warn")
            .envs(own.iter().copied())
            .stdout(Stdio::piped())
            .spawn()?;
        let (mut address, mut operator) = (None, None);
        if let Some(stdout) = child.stdout.take() {
            let mut lines = BufReader::new(stdout).lines();
            while operator.is_none() {
                let line = lines.next().ok_or("the service ended at its start")??;
                let shown = line.split("http://").nth(1);
                let shown = shown.and_then(|rest| rest.split([' ', '/']).next()?.parse().ok());
                if line.starts_with("Purser is listening") {
                    address = shown;
                } else if line.starts_with("Metrics") {
                    operator = shown;
                }
            }
            // Whatever it says later must not stop it.
            std::thread::spawn(move || lines.count());
        }
        Ok(Self {
            child,
            address: address.ok_or("the service names no address")?,
            operator: operator.ok_or("the service names no address for its operator")?,
        })
    }

    /// Its page of metrics.
    pub(crate) async fn metrics(&self) -> Result<MetricsPage, Fault> {
        let mut connection = Connection::open(self.operator).await?;
        let page = connection.call(&request(self.operator, "/metrics", "")).await?;
        Ok(MetricsPage(String::from_utf8(page.body)?))
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to stop and waits until it has.
    pub(crate) fn stop(mut self) -> Result<(), Fault> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status()?;
        self.child.wait()?;
        Ok(())
    }
}

/// The metrics of a running service.
pub(crate) struct MetricsPage(String);

impl MetricsPage {
    fn value(&self, metric: &str) -> Option<u64> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(metric)?.strip_prefix(' ')?.parse().ok())
    }

    /// What its stores have counted.
    pub(crate) fn counts(&self) -> StoreCounts {
        StoreCounts {
            commits: self.value("purser_journal_commits_total"),
            syncs: self.value("purser_journal_syncs_total"),
            sandbox_commits: self.value("purser_sandbox_journal_commits_total"),
            sandbox_syncs: self.value("purser_sandbox_journal_syncs_total"),
            snapshot_syncs: self.value("purser_snapshot_syncs_total"),
        }
    }

    /// Bytes of both journals that are not in the snapshots yet.
    pub(crate) fn lag_bytes(&self) -> u64 {
        let lags = ["purser_journal_lag_bytes", "purser_sandbox_journal_lag_bytes"];
        lags.iter().filter_map(|lag| self.value(lag)).sum()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // After `stop` there is nothing to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a stub answers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Constant {
    /// The only path it knows.
    pub(crate) path: String,
    /// Of every answer.
    pub(crate) status: u16,
    /// Those of the service's own answer, byte for byte, but for what hyper writes by itself.
    pub(crate) headers: Vec<(String, String)>,
    /// The same number of bytes.
    pub(crate) body: String,
    /// Decode and verify the payment first, and put newly minted credentials into the body.
    pub(crate) paid: bool,
}

impl Constant {
    /// The same answer for everybody.
    pub(crate) fn of(answer: &Response, path: &str) -> Self {
        let headers = answer.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let headers = headers
            .filter(|(name, _)| !["date", "content-length"].contains(name))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Self {
            path: path.to_owned(),
            status: answer.status,
            headers,
            body: String::from_utf8_lossy(&answer.body).into_owned(),
            paid: false,
        }
    }

    /// What a paid call is answered.
    pub(crate) fn paid(answer: &Response) -> Self {
        Self {
            paid: true,
            ..Self::of(answer, "/get-card")
        }
    }
}

/// A running stub.
pub(crate) struct Stub {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
}

impl Stub {
    pub(crate) fn start(answer: &Constant) -> Result<Self, Fault> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["part", "stub"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(&serde_json::to_vec(answer)?)?;
        }
        let mut address = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut address)?;
        }
        let address = address.trim().parse()?;
        Ok(Self { child, address })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

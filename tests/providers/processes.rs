//! Those who are asked: in this process, as `purser serve-providers`, and as the stub in Python.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use purser::config::{Config, ConfigSources, RemoteProvider, RemoteProviders};
use purser::provider::sandbox::all::SandboxProviders;
use purser::provider::sandbox::card_balances::deposit_watcher::DepositSource;
use purser::provider::{Providers, connect};
use purser::sandbox::chains::remote::ChainRpc;
use purser::sandbox::chains::{DEFAULT_GRANT, SandboxSettlement};
use purser::sandbox::store::{SMALL_SEGMENTS, SandboxStore};
use purser::system::{SystemClock, SystemEntropy};
use purser_actors::port::Clock;

use super::control::{DepositChain, ProviderControl};
use super::process::ServerProcess;

/// The sandbox's own, over files in `folder`.
pub(crate) fn in_process(folder: &Path) -> (Providers, ProviderControl) {
    let mut config = Config::load(&ConfigSources::default()).unwrap();
    config.sandbox.card_issue_delay_ms = 20;
    config.sandbox.gift_card_delay_ms = 20;
    config.sandbox.payout_delay_ms = 20;
    config.sandbox.bank_delay_ms = 20;
    config.sandbox.attestation_delay_ms = 20;
    config.sandbox.issuer_credit_delay_ms = 20;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let chain = DepositChain::default();
    let watched: Arc<dyn DepositSource> = Arc::new(chain.clone());
    let store = SandboxStore::open(folder, SMALL_SEGMENTS).unwrap();
    let chains = SandboxSettlement::open(
        &store,
        config.sandbox.initial_balance_usdc,
        clock.clone(),
        &SystemEntropy,
    )
    .unwrap();
    let chains: Arc<dyn ChainRpc> = Arc::new(chains);
    let sandbox = SandboxProviders::open(&store, &config, (&chains, &watched), &clock).unwrap();
    let bank = sandbox.bank.clone();
    (sandbox.providers(), ProviderControl::Here { chain, bank })
}

/// Every port at one address.
pub(crate) fn all_providers_at(url: &str, token_file: &Path) -> RemoteProviders {
    let outside = RemoteProvider {
        url: url.to_owned(),
        token_file: token_file.to_owned(),
        timeout_ms: 10_000,
    };
    RemoteProviders {
        issuer: outside.clone(),
        gift_cards: outside.clone(),
        payouts: outside.clone(),
        identity: outside.clone(),
        issuer_accounts: outside.clone(),
        banking: outside.clone(),
        bridge: outside.clone(),
        rates: outside.clone(),
        merchants: outside,
    }
}

/// Connects over HTTP to one address for all ports.
pub(crate) async fn connect_over_http(url: &str, token_file: &Path, folder: &Path) -> Providers {
    let settings = all_providers_at(url, token_file);
    let unused = folder.join("replaced");
    std::fs::create_dir_all(&unused).unwrap();
    connect::connect(&settings, in_process(&unused).0).await.unwrap()
}

/// `purser serve-providers`, and the Base that it watches.
pub(crate) struct SandboxOverHttp(ServerProcess, DepositChain);

impl SandboxOverHttp {
    pub(crate) async fn start(more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command
            .env_clear()
            .args(["serve-providers", "--listen", "127.0.0.1:0", "--data"]);
        let chain = DepositChain::default();
        let world = folder.path().join("world");
        std::fs::create_dir(&world).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let chains = SandboxSettlement::open(
            &SandboxStore::open(&world, SMALL_SEGMENTS).unwrap(),
            DEFAULT_GRANT,
            clock,
            &SystemEntropy,
        )
        .unwrap();
        let shown = chain.serve(chains).await;
        command.arg(folder.path()).args(["--chain-url", &shown]).args(more);
        for delay in [
            "CARD_ISSUE_DELAY_MS",
            "GIFT_CARD_DELAY_MS",
            "PAYOUT_DELAY_MS",
            "BANK_DELAY_MS",
            "ISSUER_CREDIT_DELAY_MS",
            "ATTESTATION_DELAY_MS",
        ] {
            command.env(format!("PURSER_SANDBOX__{delay}"), "20");
        }
        Self(ServerProcess::start(command, folder), chain)
    }

    pub(crate) fn url(&self) -> &str {
        &self.0.url
    }

    pub(crate) async fn providers(&self) -> Providers {
        let folder = self.0.folder.path();
        connect_over_http(&self.0.url, &folder.join("provider.token"), folder).await
    }

    pub(crate) async fn with_control(&self) -> (Providers, ProviderControl) {
        let (chain, url) = (self.1.clone(), self.0.url.clone());
        (self.providers().await, ProviderControl::Sandbox { chain, url })
    }
}

/// The stub. It knows nothing of this repository but the document.
pub(crate) struct PythonStub(ServerProcess);

impl PythonStub {
    /// `None`: the test must return, and has been reported as skipped.
    pub(crate) async fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("provider.token");
        std::fs::write(&token_file, "the secret of a stub, in one line".replace(' ', "-")).unwrap();
        let stub = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/providers/stub.py");
        let version = Command::new("python3").arg("--version").stdout(Stdio::null()).status();
        if !version.is_ok_and(|status| status.success()) {
            let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
            assert!(!in_ci, "python3 is missing");
            // A skipped test must be seen, whatever captures the output of the others.
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "skipped: the stub in Python: python3 is missing");
            return None;
        }
        let mut command = Command::new("python3");
        command.arg("-u").arg(stub).arg("--token-file").arg(token_file);
        Some(Self(ServerProcess::start(command, folder)))
    }

    pub(crate) async fn with_control(&self) -> (Providers, ProviderControl) {
        let folder = self.0.folder.path();
        let providers = connect_over_http(&self.0.url, &folder.join("provider.token"), folder).await;
        let url = self.0.url.clone();
        (providers, ProviderControl::Stub { url })
    }
}

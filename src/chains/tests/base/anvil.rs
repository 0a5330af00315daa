//! anvil as a child process. Where it is missing a test is skipped with a visible line, except in CI.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

use purser_chains::rpc::{EndpointSettings, EndpointUrl, HttpTransport, RpcPool, SystemClock};
use serde_json::{Value, json};

/// Ends with the process when dropped.
pub struct Anvil {
    process: Child,
    pub url: String,
    control: RpcPool,
}

impl Anvil {
    /// A fresh chain that mines on demand; `None`: the test must return, and has been reported as skipped.
    pub fn start() -> Option<Self> {
        Self::start_with(4)
    }

    /// `safe` is this many blocks behind the newest one, and `finalized` twice as many.
    pub fn start_with(epoch: u64) -> Option<Self> {
        static BINARY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        let binary = match BINARY.get_or_init(find).clone() {
            Ok(binary) => binary,
            Err(error) => {
                let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
                assert!(!in_ci, "{error}");
                let test = std::thread::current().name().unwrap_or("test").to_owned();
                let _ = writeln!(lock_stdout(), "skipped: {test}: {error}");
                return None;
            }
        };
        let options = "--port 0 --chain-id 8453 --network optimism --no-mining --slots-in-an-epoch";
        let mut process = Command::new(binary)
            .args(options.split(' '))
            .arg(epoch.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("Listening on ").map(str::to_owned))
            .expect("anvil prints its address");
        // It must never wait for a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let url = format!("http://{address}");
        let control = pool(&[&url]);
        Some(Self { process, url, control })
    }

    /// Anvil's own methods.
    pub async fn control(&self, method: &str, params: Value) -> Value {
        self.control.call(method, params).await.unwrap()
    }

    pub async fn mine(&self, blocks: u64) {
        self.control("anvil_mine", json!([format!("{blocks:#x}"), "0x2"])).await;
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// Not captured: the line is for every run, not for failed tests only.
fn lock_stdout() -> std::io::StdoutLock<'static> {
    std::io::stdout().lock()
}

/// A pool of these endpoints, over HTTP.
pub fn pool(urls: &[&str]) -> RpcPool {
    let settings = urls.iter().map(|url| EndpointSettings {
        rate: 10_000,
        burst: 10_000,
        ..EndpointSettings::new(EndpointUrl::parse(url).unwrap())
    });
    let transport = Arc::new(HttpTransport::new(client()));
    RpcPool::new(settings.collect(), transport, Arc::new(SystemClock::default())).unwrap()
}

pub fn client() -> reqwest::Client {
    // Once for the process; every test chooses the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    builder.no_proxy().build().unwrap()
}

/// `PURSER_ANVIL`, or the package of the lock file beside this test.
fn find() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("PURSER_ANVIL") {
        let path = PathBuf::from(path);
        return if path.is_file() {
            Ok(path)
        } else {
            Err("PURSER_ANVIL names no file".to_owned())
        };
    }
    // This file is part of a test of the crate for chains and of one of the service.
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/anvil", "src/chains/tests/anvil"].map(|folder| root.join(folder));
    let folder = folders
        .into_iter()
        .find(|folder| folder.join("package-lock.json").is_file());
    let folder = folder.ok_or("the lock file of anvil is not there")?;
    let binary = folder.join("node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil");
    let text = |error: std::io::Error| error.to_string();
    // One at a time: test programs may run at once.
    let lock = std::fs::File::create(Path::new(env!("CARGO_TARGET_TMPDIR")).join("anvil-npm-ci.lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    if binary.is_file() {
        return Ok(binary);
    }
    let install = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("npm: {error}"))?;
    match install.status.success() && binary.is_file() {
        true => Ok(binary),
        false => Err(format!("npm ci failed: {}", String::from_utf8_lossy(&install.stderr))),
    }
}

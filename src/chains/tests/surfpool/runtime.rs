//! One Solana runtime for all tests of the program. Without Node.js or its package a test is skipped and prints a
//! line; with CI=true it fails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, OnceLock};

use purser_chains::rpc::{EndpointSettings, EndpointUrl, HttpTransport, RpcPool, SystemClock};
use purser_chains::solana::Pubkey;
use purser_chains::solana::address::{USDC_MAINNET, base58};
use purser_chains::solana::node::Node;
use serde_json::{Value, json};

/// Length of a slot: an eighth of mainnet's, so that a blockhash lives for eight seconds.
pub const SLOT_MS: u64 = 50;

/// The running process. It ends with its standard input, at the latest when this program ends.
struct Runtime {
    url: String,
    _process: Child,
}

/// A handle of one test.
pub struct Chain {
    pub url: &'static str,
    client: reqwest::Client,
}

impl Chain {
    /// `None`: the test must return, and has been reported as skipped.
    pub fn ready() -> Option<Self> {
        static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
        match RUNTIME.get_or_init(|| install().and_then(|()| start())) {
            Ok(runtime) => {
                let _ = rustls::crypto::ring::default_provider().install_default();
                Some(Self {
                    url: &runtime.url,
                    client: reqwest::Client::builder().no_proxy().build().unwrap(),
                })
            }
            Err(why) if in_ci() => panic!("{why}"),
            Err(why) => {
                let test = std::thread::current().name().unwrap_or("test").to_owned();
                // Past the test harness, which hides what passing tests print.
                let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
                None
            }
        }
    }

    /// The chain through two addresses of the runtime.
    pub fn node(&self) -> Node {
        self.node_with(2)
    }

    pub fn node_with(&self, endpoints: usize) -> Node {
        let (settings, transport) = (self.endpoints(endpoints), Arc::new(self.transport()));
        let pool = RpcPool::new(settings, transport, Arc::new(SystemClock::default())).unwrap();
        Node::new(Arc::new(pool))
    }

    /// Addresses of the runtime, at most two: by number, then by name.
    pub fn endpoints(&self, count: usize) -> Vec<EndpointSettings> {
        let urls = [self.url.to_owned(), self.url.replace("127.0.0.1", "localhost")];
        let settings = urls.iter().take(count).map(|url| {
            let mut settings = EndpointSettings::new(EndpointUrl::parse(url).unwrap());
            (settings.rate, settings.burst) = (10_000, 10_000);
            settings
        });
        settings.collect()
    }

    pub fn transport(&self) -> HttpTransport {
        HttpTransport::new(self.client.clone())
    }

    /// Sets the balance of a wallet.
    pub async fn set_lamports(&self, address: &Pubkey, lamports: u64) {
        self.control("surfnet_setAccount", json!([base58(address), {"lamports": lamports}]))
            .await;
    }

    /// Sets the USDC of an owner, creating the token account.
    pub async fn set_usdc(&self, owner: &Pubkey, amount: u64, frozen: bool) {
        let state = if frozen { "frozen" } else { "initialized" };
        let update = json!({"amount": amount, "state": state});
        self.control(
            "surfnet_setTokenAccount",
            json!([base58(owner), base58(&USDC_MAINNET), update]),
        )
        .await;
    }

    async fn control(&self, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.client.post(self.url).json(&request).send().await.unwrap();
        let response: Value = response.json().await.unwrap();
        assert!(response.get("error").is_none(), "{method}: {response}");
    }
}

fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// This folder, also for the test programs of the service.
fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["tests/surfpool", "src/chains/tests/surfpool"];
    let mut folders = folders.map(|folder| package.join(folder)).into_iter();
    folders.find(|folder| folder.join("start.mjs").exists()).unwrap()
}

/// `npm ci`, unless the lock file's packages are installed. One at a time: several test programs may run at once.
fn install() -> Result<(), String> {
    let folder = folder();
    let text = |error: std::io::Error| error.to_string();
    run("node", &["--version"])?;
    let lock = std::fs::read(folder.join("package-lock.json")).map_err(text)?;
    let guard = Path::new(env!("CARGO_TARGET_TMPDIR")).join("surfpool-npm-ci.lock");
    let guard = std::fs::File::create(guard).map_err(text)?;
    guard.lock().map_err(text)?;
    let stamp = folder.join("node_modules/installed-lock");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run("npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?;
    std::fs::write(stamp, lock).map_err(text)
}

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let what = format!("{program} {}", arguments.join(" "));
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder())
        .stdin(Stdio::null())
        .output();
    let run = run.map_err(|error| format!("{what}: {error}"))?;
    if run.status.success() {
        return Ok(());
    }
    Err(format!("{what} failed: {}", String::from_utf8_lossy(&run.stderr)))
}

fn start() -> Result<Runtime, String> {
    let authority = "07".repeat(32);
    let mut process = Command::new("node")
        .arg(folder().join("start.mjs"))
        .args([&SLOT_MS.to_string(), &authority])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("node start.mjs: {error}"))?;
    let mut line = String::new();
    if let Some(stdout) = process.stdout.take() {
        let mut stdout = BufReader::new(stdout);
        let _ = stdout.read_line(&mut line);
        // What follows must not meet a closed pipe.
        std::thread::spawn(move || stdout.lines().for_each(drop));
    }
    let stderr = process.stderr.take().map(BufReader::new);
    let ready: Option<Value> = serde_json::from_str(&line).ok();
    let url = ready.as_ref().and_then(|ready| ready["rpcUrl"].as_str());
    match (url, stderr) {
        (Some(url), Some(stderr)) => {
            std::thread::spawn(move || stderr.lines().for_each(drop));
            Ok(Runtime {
                url: url.to_owned(),
                _process: process,
            })
        }
        (_, stderr) => {
            let printed: Vec<String> = stderr
                .map(|stderr| stderr.lines().map_while(Result::ok).collect())
                .unwrap_or_default();
            Err(format!("the Solana runtime did not start: {}", printed.join("\n")))
        }
    }
}

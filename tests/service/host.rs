//! The machine under test: a data directory, settings, and the processes that use them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for a loaded machine. Only a failing test waits this long.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(90);

/// A data directory and the settings of the processes that use it.
pub(crate) struct Host {
    folder: tempfile::TempDir,
    env: BTreeMap<String, String>,
}

impl Host {
    /// Small files, no delays, and tokens that survive a restart on another port.
    pub(crate) fn new() -> Self {
        let mut host = Self {
            folder: tempfile::tempdir().unwrap(),
            env: BTreeMap::new(),
        };
        host.set("RUST_LOG", "info");
        host.set("PURSER_OPERATOR__LISTEN", "127.0.0.1:0");
        host.set("PURSER_IDENTITY__ISSUER", "purser-under-test");
        host.set("PURSER_STORAGE__SEGMENT_BYTES", "1048576");
        host.set("PURSER_SANDBOX__CARD_ISSUE_DELAY_MS", "10");
        host.set("PURSER_LIMITS__REQUESTS_PER_WINDOW", "1000000");
        host.set("PURSER_LIMITS__PAYMENTS_PER_WINDOW", "1000000");
        host.set("PURSER_ENGINE__MAX_PAID_CALLS_PER_PAYER", "1000");
        // One operator approves everything. Tests of second approvals set limits.
        host.set("PURSER_OPERATOR__ALONE_MAX_USD", "0");
        host.set("PURSER_OPERATOR__ALONE_DAY_MAX_USD", "0");
        // Tests check provider faults per order. Tests of closed lines change this.
        host.set("PURSER_ENGINE__LINE_FAILURES", "0");
        host.set("PURSER_CAPS__CARDS_PER_DAY", "1000000");
        host.set("PURSER_CAPS__CARD_USD_PER_DAY", "1000000000");
        host
    }

    /// Sets an environment variable for all later processes.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.env.insert(name.to_owned(), value.to_owned());
    }

    /// Resets a variable to its default.
    pub(crate) fn unset(&mut self, name: &str) {
        self.env.remove(name);
    }

    /// Returns the host with one setting changed.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.set(name, value);
        self
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn sibling_path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> PathBuf {
        self.sibling_path("service.err")
    }

    /// Everything that services on this host wrote to standard error.
    pub(crate) fn logged(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str], data: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        command.args(arguments).arg("--data").arg(data);
        command.env_clear().envs(&self.env).stdin(Stdio::null());
        command
    }

    /// Runs a command to its end on this host's data.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.run_on(arguments, &self.data())
    }

    /// Runs a command to its end on another data directory.
    pub(crate) fn run_on(&self, arguments: &[&str], data: &Path) -> Output {
        self.command(arguments, data).output().unwrap()
    }

    /// `purser verify --json`: whether it passed, and its report.
    pub(crate) fn verify(&self) -> (bool, Value) {
        self.verify_on(&self.data())
    }

    /// As [`Host::verify`], on another data directory.
    pub(crate) fn verify_on(&self, data: &Path) -> (bool, Value) {
        let output = self.run_on(&["verify", "--json"], data);
        let report = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|e| panic!("verify printed no report ({e}): {}", text(&output)));
        (output.status.success(), report)
    }

    /// Asserts that `purser verify` finds no problem.
    pub(crate) fn assert_verified(&self) -> Value {
        let (passed, report) = self.verify();
        assert!(passed, "verify found: {:#}", report["problems"]);
        report
    }

    /// Starts the service on a free port and waits until it listens.
    pub(crate) fn start(&self) -> Service {
        self.try_start()
            .unwrap_or_else(|output| panic!("the service did not start: {output}"))
    }

    /// As [`Host::start`], with more arguments.
    pub(crate) fn start_with(&self, more: &[&str]) -> Service {
        let arguments = [&["serve", "--listen", "127.0.0.1:0"], more].concat();
        let started = self.spawn(self.command(&arguments, &self.data()));
        started.unwrap_or_else(|output| panic!("the service did not start: {output}"))
    }

    /// Starts on the configured address, or on the port it picks if that one is taken.
    pub(crate) fn start_with_no_address(&self) -> Service {
        let started = self.spawn(self.command(&["serve"], &self.data()));
        started.unwrap_or_else(|output| panic!("the service did not start: {output}"))
    }

    /// As [`Host::start`], but returns the process output if it exits instead.
    pub(crate) fn try_start(&self) -> Result<Service, String> {
        self.start_at("127.0.0.1:0")
    }

    /// Starts on an earlier service's address, so its clients find it again.
    pub(crate) fn restart_at(&self, authority: &str) -> Service {
        let started = self.start_at(authority);
        started.unwrap_or_else(|output| panic!("the service did not start: {output}"))
    }

    /// Starts on an address while the settings have another public URL, which the start message then shows.
    pub(crate) fn start_behind(&self, public: &str) -> Service {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let started = self.start_at(&free.to_string());
        let mut service = started.unwrap_or_else(|output| panic!("the service did not start: {output}"));
        assert_eq!(service.url, public);
        service.url = format!("http://{free}");
        service
    }

    /// Starts with a limit on every file's size, in KiB. Writes beyond it fail as on a full disk.
    pub(crate) fn start_with_files_up_to(&self, kib: usize) -> Service {
        let plain = self.command(&["serve", "--listen", "127.0.0.1:0"], &self.data());
        let mut limited = Command::new("bash");
        let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$@\"");
        limited
            .args(["-c", &script, "limited"])
            .arg(plain.get_program())
            .args(plain.get_args());
        limited.env_clear().envs(&self.env).env("PATH", "/usr/bin:/bin");
        let started = self.spawn(limited);
        started.unwrap_or_else(|output| panic!("the service did not start: {output}"))
    }

    fn start_at(&self, listen: &str) -> Result<Service, String> {
        self.spawn(self.command(&["serve", "--listen", listen], &self.data()))
    }

    fn spawn(&self, mut command: Command) -> Result<Service, String> {
        let log = File::options().create(true).append(true).open(self.log()).unwrap();
        let before = self.logged().len();
        let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut greeting = String::new();
        lines.read_line(&mut greeting).unwrap();
        let mut second = String::new();
        lines.read_line(&mut second).unwrap();
        if second.starts_with("It listens at ") {
            // Behind a public URL there is a line more.
            second.clear();
            lines.read_line(&mut second).unwrap();
        }
        let operator = second.strip_prefix("Metrics for the operator at ");
        let operator = operator.map(|url| url.trim_end().trim_end_matches("/metrics").to_owned());
        // A full pipe must not block the process.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let is_url = |word: &&str| word.starts_with("http://") || word.starts_with("https://");
        let url = greeting.split_whitespace().find(is_url);
        match url {
            Some(url) => Ok(Service {
                url: url.to_owned(),
                operator,
                child,
                log: self.log(),
            }),
            None => {
                let status = child.wait().unwrap();
                Err(format!("{status}: {greeting}{}", &self.logged()[before..]))
            }
        }
    }
}

impl Host {
    /// Starts the service and kills it after a delay, whatever it is doing.
    pub(crate) fn start_and_kill(&self, after: Duration) {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"], &self.data());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Standard output and error of a command, for messages.
pub(crate) fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}: {out}{err}", output.status)
}

/// A running service; killed when dropped.
pub(crate) struct Service {
    pub(crate) url: String,
    /// Base URL of the operator address, if there is one.
    pub(crate) operator: Option<String>,
    child: Child,
    log: PathBuf,
}

impl Service {
    /// Host and port.
    pub(crate) fn authority(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The URL of a path at the operator address.
    pub(crate) fn operator_url(&self, path: &str) -> String {
        format!("{}{path}", self.operator.as_ref().unwrap())
    }

    /// Sends SIGKILL and waits until the process is dead.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn terminate(&self) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Limits every file to this size from now on, as on a full disk. The process must have been started with a file
    /// limit; otherwise the signal kills it.
    pub(crate) fn limit_files(&self, bytes: u64) {
        let (pid, size) = (self.child.id().to_string(), format!("--fsize={bytes}"));
        let set = Command::new("prlimit").args(["--pid", &pid, &size]).status().unwrap();
        assert!(set.success());
    }

    /// Waits until the process exits and returns whether it succeeded.
    pub(crate) fn wait(mut self) -> bool {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(started.elapsed() < TIMEOUT, "the service does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Stops gracefully and waits for the exit.
    pub(crate) fn stop(self) {
        self.terminate();
        let log = self.log.clone();
        let read_log = || std::fs::read_to_string(&log).unwrap_or_default();
        assert!(self.wait(), "the service ended with an error: {}", read_log());
    }

    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        let kib: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
        kib * 1024
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Copies a directory, so that a test can damage the copy.
pub(crate) fn copy_dir(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_dir(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

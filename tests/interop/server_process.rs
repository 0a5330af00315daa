//! The real binary as a process of its own, on a free port and an empty data directory.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

/// A running `purser serve`; killed, and its directory removed, when dropped.
pub struct ServerProcess {
    command: Command,
    child: Option<Child>,
    /// What the line begins with that says where it listens.
    greeting: &'static str,
    url: String,
    pub http: reqwest::Client,
    folder: tempfile::TempDir,
}

impl ServerProcess {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts with these settings on top of the defaults.
    pub fn start_with(settings: &[(&str, &str)]) -> Self {
        Self::start_from(None, settings)
    }

    /// Starts with a file of settings, and these on top of it.
    pub fn start_from(config: Option<&Path>, settings: &[(&str, &str)]) -> Self {
        Self::start_at("127.0.0.1:0", config, settings)
    }

    /// Starts at an address that stays the same when it is run again.
    pub fn start_at_one_address() -> Self {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap();
        drop(free);
        Self::start_at(&address.to_string(), None, &[])
    }

    fn start_at(listen: &str, config: Option<&Path>, settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PURSER_") {
                command.env_remove(name);
            }
        }
        command
            .args(["serve", "--listen", listen, "--data"])
            .arg(folder.path().join("data"))
            .args(config.into_iter().flat_map(|file| [Path::new("--config"), file]))
            .env("PURSER_OPERATOR__LISTEN", "127.0.0.1:0")
            .env("PURSER_STORAGE__SEGMENT_BYTES", "1048576")
            .envs(settings.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(folder.path().join("log")).unwrap());
        let mut purser = Self {
            command,
            child: None,
            greeting: match config {
                None => "Purser is listening on ",
                // Clients call it by another name.
                Some(_) => "It listens at ",
            },
            url: String::new(),
            // A client's script blocks the test's thread: a connection that the service closes meanwhile would be used
            // again.
            http: purser::outbound::client().pool_max_idle_per_host(0).build().unwrap(),
            folder,
        };
        purser.run();
        purser
    }

    /// Starts it on its directory, after a kill if it runs, and waits for the line with its listen address.
    pub fn run(&mut self) {
        self.kill();
        let mut child = self.command.spawn().unwrap();
        let mut greeting = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        while !greeting.starts_with(self.greeting) {
            greeting.clear();
            let read = stdout.read_line(&mut greeting).unwrap();
            assert!(read > 0, "purser ended: {}", log(&self.folder));
        }
        // What follows must not meet a closed pipe.
        std::thread::spawn(move || stdout.lines().for_each(drop));
        let address = greeting[self.greeting.len()..].split_whitespace().next();
        self.url = address.unwrap().to_owned();
        self.child = Some(child);
    }

    /// As `kill -9`.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// As SIGTERM, and waits until it has ended.
    pub async fn stop(&mut self) {
        let mut child = self.child.take().unwrap();
        let id = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        let ended = tokio::task::spawn_blocking(move || child.wait()).await;
        assert!(ended.unwrap().unwrap().success());
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// What its processes have logged.
    pub fn log(&self) -> String {
        log(&self.folder)
    }

    /// URL of a page: at `localhost`, where the pages of a loopback address are.
    pub fn page_url(&self, path: &str) -> String {
        self.url(path).replace("//127.0.0.1:", "//localhost:")
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// Status, headers with lower-case names, and JSON body (null when it is none).
    pub async fn get(&self, path: &str, headers: &[(&str, &str)]) -> (u16, reqwest::header::HeaderMap, Value) {
        let mut request = self.http.get(self.url(path));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let body = answer.bytes().await.unwrap();
        (status, headers, serde_json::from_slice(&body).unwrap_or(Value::Null))
    }

    pub async fn bearer(&self, path: &str, token: &str) -> (u16, Value) {
        let (status, _, body) = self.get(path, &[("authorization", &format!("Bearer {token}"))]).await;
        (status, body)
    }
}

/// One run of the program, which must go well.
pub fn purser(arguments: &[&Path]) -> Output {
    stdout_of_success(arguments, run(arguments))
}

/// One run of the program, without settings of the surroundings.
pub fn run(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_purser"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("PURSER_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).stdin(Stdio::null()).output().unwrap()
}

pub fn stdout_of_success(arguments: &[impl std::fmt::Debug], run: Output) -> Output {
    assert!(
        run.status.success(),
        "{arguments:?}: {}{}",
        String::from_utf8_lossy(&run.stdout),
        String::from_utf8_lossy(&run.stderr)
    );
    run
}

fn log(folder: &tempfile::TempDir) -> String {
    std::fs::read_to_string(folder.path().join("log")).unwrap_or_default()
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            print_line(&log(&self.folder));
        }
    }
}

/// Past the test harness, which hides what passing tests print.
pub fn print_line(text: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "{text}");
}

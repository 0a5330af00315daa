//! Node.js with the stock clients. Where it is missing a test is skipped with a line that says so, except in CI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::server_process::print_line;

/// Proof that node runs and the packages of `package-lock.json` are installed.
#[derive(Clone, Copy)]
pub struct Node;

impl Node {
    /// `None`: the test must return, and has been reported as skipped.
    pub fn ready() -> Option<Self> {
        static PACKAGES: OnceLock<Result<(), String>> = OnceLock::new();
        present(PACKAGES.get_or_init(install).clone()).map(|()| Self)
    }

    /// A script of this folder, not started yet.
    pub fn script(self, name: &str) -> Command {
        let mut command = Command::new("node");
        // Proxies of the surroundings must not come between a client and 127.0.0.1.
        command
            .arg(folder().join(name))
            .current_dir(folder())
            .env("NO_PROXY", "127.0.0.1");
        command
    }
}

/// Skips visibly outside CI and fails in it.
pub fn present<T>(found: Result<T, String>) -> Option<T> {
    let in_ci = std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    match found {
        Ok(found) => Some(found),
        Err(why) if in_ci => panic!("{why}"),
        Err(why) => {
            let test = std::thread::current().name().unwrap_or("test").to_owned();
            print_line(&format!("skipped: {test}: {why}"));
            None
        }
    }
}

/// Where the scripts and the lists of packages are.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interop")
}

/// `npm ci`, unless what is installed is what the lock file asks for. One at a time: test programs may run at once.
fn install() -> Result<(), String> {
    let folder = folder();
    let text = |e: std::io::Error| e.to_string();
    run("node", &["--version"], &folder)?;
    let lock = std::fs::read(folder.join("package-lock.json")).map_err(text)?;
    std::fs::create_dir_all(folder.join("node_modules")).map_err(text)?;
    // Not beside the packages, because `npm ci` empties their folder.
    let guard = Path::new(env!("CARGO_TARGET_TMPDIR")).join("npm-ci.lock");
    let guard = std::fs::File::create(guard).map_err(text)?;
    guard.lock().map_err(text)?;
    let stamp = folder.join("node_modules/installed-lock");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run("npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts"], &folder)?;
    std::fs::write(stamp, lock).map_err(text)
}

/// Runs a command to its end; what it said if it failed.
pub fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<(), String> {
    let what = format!("{program} {}", arguments.join(" "));
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{what}: {e}"))?;
    if run.status.success() {
        return Ok(());
    }
    Err(format!("{what} failed: {}", String::from_utf8_lossy(&run.stderr)))
}

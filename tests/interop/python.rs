//! Python with the published packages of `requirements.txt`, in a venv of its own. Where it is missing a test is
//! skipped with a line that says so, except in CI.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::node::{folder, present, run};

/// Proof that Python runs and the packages are installed.
#[derive(Clone, Copy)]
pub struct Python;

impl Python {
    /// `None`: the test must return, and has been reported as skipped.
    pub fn ready() -> Option<Self> {
        static PACKAGES: OnceLock<Result<(), String>> = OnceLock::new();
        present(PACKAGES.get_or_init(install).clone()).map(|()| Self)
    }

    /// A program of one of the packages, not started yet.
    pub fn program(self, name: &str) -> Command {
        let mut command = Command::new(venv().join("bin").join(name));
        // Proxies of the surroundings must not come between a client and 127.0.0.1.
        command.env("NO_PROXY", "127.0.0.1").stdin(Stdio::null());
        command
    }
}

fn venv() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("python")
}

/// A venv with what `requirements.txt` names, unless it is there. One at a time: test programs may run at once.
fn install() -> Result<(), String> {
    let text = |e: std::io::Error| e.to_string();
    let (venv, requirements) = (venv(), folder().join("requirements.txt"));
    let packages = std::fs::read(&requirements).map_err(text)?;
    let guard = std::fs::File::create(venv.with_extension("lock")).map_err(text)?;
    guard.lock().map_err(text)?;
    let stamp = venv.join("installed-requirements");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == packages) {
        return Ok(());
    }
    let (place, requirements) = (venv.to_string_lossy(), requirements.to_string_lossy());
    run("python3", &["-m", "venv", "--clear", &place], &folder())?;
    let python = venv.join("bin/python");
    let install: [&str; 7] = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        &requirements,
    ];
    run(&python.to_string_lossy(), &install, &folder())?;
    std::fs::write(stamp, packages).map_err(text)
}

//! Programs of the npm registry, in processes of their own.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Fault;

/// A running script of Node.js; killed when dropped.
pub(crate) struct Script {
    child: Child,
    /// The first line that it printed.
    pub(crate) first_line: String,
}

impl Script {
    /// Starts a script of this folder, whose packages are installed first, and waits until it says where it listens.
    pub(crate) fn start(folder: &str, script: &str, arguments: &[&str]) -> Result<Self, Fault> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        install(&folder)?;
        let mut child = Command::new("node")
            .arg(script)
            .args(arguments)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut first_line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let mut stdout = BufReader::new(stdout);
            stdout.read_line(&mut first_line)?;
            // Whatever it says later must not stop it.
            std::thread::spawn(move || stdout.lines().count());
        }
        if first_line.is_empty() {
            return Err(format!("{script} did not start").into());
        }
        let first_line = first_line.trim().to_owned();
        Ok(Self { child, first_line })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `npm ci`, unless the packages of the lock file are there.
fn install(folder: &Path) -> Result<(), Fault> {
    let lock = std::fs::read(folder.join("package-lock.json"))?;
    // The tests of this folder keep the same file.
    let stamp: PathBuf = folder.join("node_modules/installed-lock");
    if std::fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    let installed = Command::new("npm")
        .args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()?;
    if !installed.success() {
        return Err(format!("npm ci failed in {}", folder.display()).into());
    }
    Ok(std::fs::write(stamp, lock)?)
}

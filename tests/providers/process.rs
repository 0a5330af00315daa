//! A provider as a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

/// A process that has said where it listens; killed when dropped.
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) url: String,
    pub(crate) folder: tempfile::TempDir,
}

impl ServerProcess {
    /// Starts it and waits for a line with an address.
    pub(crate) fn start(mut command: Command, folder: tempfile::TempDir) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = loop {
            let line = lines.next().expect("it ended").unwrap();
            if let Some(at) = line.find("http://") {
                break line[at..].trim().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, url, folder }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

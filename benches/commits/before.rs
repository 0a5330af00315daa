//! Rows of another build: its `ratios` program in a process of its own, which measures a round when it is asked to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::{Bench, Round};
use crate::{Fault, host_info};

/// A running `ratios part commits`.
pub(super) struct OtherBuild {
    child: Child,
    asked: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl OtherBuild {
    pub(super) fn start(program: &Path, callers: usize, round_ms: u64) -> Result<Self, Fault> {
        let mut child = Command::new(program)
            .args(["part", "commits", &callers.to_string(), &round_ms.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(asked), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the other build has no pipes".into());
        };
        Ok(Self {
            child,
            asked,
            answers: BufReader::new(answers),
        })
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// One round of a row, while this process waits.
    pub(super) fn round(&mut self, name: &str) -> Result<Round, Fault> {
        writeln!(self.asked, "{name}")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        serde_json::from_str(&answer).map_err(|e| format!("the other build answered {answer:?}: {e}").into())
    }
}

impl Drop for OtherBuild {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the other program: measures the rows that standard input names, one a line.
pub(crate) fn serve(callers: usize, round_ms: u64) -> Result<(), Fault> {
    let dir = host_info::directory()?;
    let bench = Bench::open(dir.path(), callers, Duration::from_millis(round_ms))?;
    for name in std::io::stdin().lines() {
        println!("{}", serde_json::to_string(&bench.round(&name?)?)?);
    }
    bench.close();
    Ok(())
}

//! Chromium, driven by `tests/interop/browser.mjs` over a pipe.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::node::{Node, present};

/// A browser with one page; gone when dropped.
pub struct Chromium {
    driver: Child,
    // In an option, so that dropping can close it: the driver ends with its input, and the browser with the driver.
    commands: Option<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

impl Chromium {
    /// `None`: the test must return, and has been reported as skipped.
    pub fn start() -> Option<Self> {
        let program = present(find())?;
        let mut driver = Node::ready()?
            .script("browser.mjs")
            .arg(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut chromium = Self {
            commands: driver.stdin.take(),
            responses: BufReader::new(driver.stdout.take().unwrap()),
            driver,
        };
        chromium.read_response();
        Some(chromium)
    }

    /// Sends a command and returns its answer; fails the test with what the page shows when it does not succeed.
    pub fn run_command(&mut self, command: Value) -> Value {
        writeln!(self.commands.as_mut().unwrap(), "{command}").unwrap();
        let answer = self.read_response();
        assert_eq!(answer["ok"], true, "{command}: {answer:#}");
        answer
    }

    pub fn open(&mut self, url: &str) {
        self.run_command(json!({"do": "open", "url": url}));
    }

    pub fn wait(&mut self, selector: &str, text: &str) {
        self.run_command(json!({"do": "wait", "selector": selector, "text": text}));
    }

    /// The visible text of the elements; empty when none is to be seen.
    pub fn text(&mut self, selector: &str) -> String {
        let answer = self.run_command(json!({"do": "text", "selector": selector}));
        let texts = answer["text"].as_array().unwrap();
        let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
        texts.join("\n")
    }

    fn read_response(&mut self) -> Value {
        let mut line = String::new();
        self.responses.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("the browser's driver ended: {line}"))
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        drop(self.commands.take());
        let _ = self.driver.wait();
    }
}

pub fn find() -> Result<&'static str, String> {
    let runs = |program: &&str| {
        let version = Command::new(program).arg("--version").stderr(Stdio::null()).output();
        version.is_ok_and(|run| run.status.success())
    };
    ["/usr/bin/chromium", "chromium", "chromium-browser", "google-chrome"]
        .into_iter()
        .find(runs)
        .ok_or_else(|| "no Chromium is installed".to_owned())
}

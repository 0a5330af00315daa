//! The terminal: results on standard output, progress on standard error.
//!
//! Text from a server is printed inert: its control characters do not reach the terminal.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use purser_actors::money::Usdc;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use serde_json::Value;
use zeroize::{Zeroize as _, Zeroizing};

use super::CliError;

/// Prints a line of the result.
pub fn result(line: &str) -> Result<(), CliError> {
    written(&inert(line))
}

fn written(text: &str) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|source| match source.kind() {
        std::io::ErrorKind::BrokenPipe => CliError::Closed,
        _ => CliError::Io {
            what: "standard output".to_owned(),
            source,
        },
    })
}

/// Prints the result as JSON.
pub fn json(value: &Value, pretty: bool) -> Result<(), CliError> {
    let text = if pretty {
        format!("{value:#}")
    } else {
        value.to_string()
    };
    // serde_json escapes the controls below U+0020; the others are valid in JSON, but unsafe on a terminal.
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push('\n'),
            c if c.is_control() => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => escaped.push(c),
        }
    }
    written(&escaped)
}

/// An amount for a person: at least two places.
pub fn usd(amount: Usdc) -> String {
    let amount = amount.decimal();
    match amount.scale() {
        0 | 1 => format!("{amount:.2}"),
        _ => amount.to_string(),
    }
}

/// Prints a line of progress. A closed standard error does not stop the command.
pub fn progress(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", inert(line));
}

/// Lines of standard input. At a terminal each is prompted for.
pub struct HiddenInput {
    /// The terminal's previous mode, with echo.
    before: Option<Termios>,
}

impl HiddenInput {
    /// Turns echo off until this is dropped or Ctrl-C is pressed. Requires a runtime.
    pub fn hidden() -> Result<Self, CliError> {
        let stdin = std::io::stdin();
        if !stdin.is_terminal() {
            return Ok(Self { before: None });
        }
        let failed = |error: rustix::io::Errno| no_input(error.into());
        let before = tcgetattr(&stdin).map_err(failed)?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // Each answer still gets its own line.
        hidden.local_modes.insert(LocalModes::ECHONL);
        tcsetattr(&stdin, OptionalActions::Now, &hidden).map_err(failed)?;
        let again = before.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &again);
                // The exit status that shells use for a signal.
                std::process::exit(130);
            }
        });
        Ok(Self { before: Some(before) })
    }

    /// The next line, without white space.
    pub fn line(&self, what: &str) -> Result<Zeroizing<String>, CliError> {
        if self.before.is_some() {
            progress(&format!("{what}:"));
        }
        let mut text = String::new();
        std::io::stdin().lock().read_line(&mut text).map_err(no_input)?;
        let kept = text.chars().filter(|c| !c.is_whitespace()).collect();
        text.zeroize();
        Ok(Zeroizing::new(kept))
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
        }
    }
}

fn no_input(source: std::io::Error) -> CliError {
    CliError::Io {
        what: "standard input".to_owned(),
        source,
    }
}

/// The members of an object with their values as text, nested names joined by a dot.
pub fn fields(value: &Value) -> Vec<(String, String)> {
    let mut fields = Vec::new();
    push_fields(&mut fields, "", value);
    fields
}

fn push_fields(lines: &mut Vec<(String, String)>, name: &str, value: &Value) {
    let nested = |key: &str| {
        if name.is_empty() {
            key.to_owned()
        } else {
            format!("{name}.{key}")
        }
    };
    match value {
        Value::Object(members) => members
            .iter()
            .for_each(|(key, value)| push_fields(lines, &nested(key), value)),
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                push_fields(lines, &nested(&index.to_string()), value);
            }
        }
        Value::String(text) => lines.push((name.to_owned(), text.clone())),
        other => lines.push((name.to_owned(), other.to_string())),
    }
}

/// Replaces control characters with the replacement character.
pub fn inert(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_72_a_servers_text_cannot_drive_the_terminal() {
        // Checks: escape sequences, C1 controls and line breaks in a server's text are inert.
        assert_eq!(
            inert("a\u{1b}[2Jb\u{9b}c\nd\u{7f}é"),
            "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d\u{fffd}é"
        );
        let nested = serde_json::json!({"card": {"id": "x", "list": [1, "y"]}, "n": null});
        assert_eq!(
            fields(&nested),
            [
                ("card.id", "x"),
                ("card.list.0", "1"),
                ("card.list.1", "y"),
                ("n", "null")
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}

//! Somebody at a terminal, typing what nobody behind them may read.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

#[test]
fn a_card_is_typed_without_echo() {
    // Aim: neither number nor CVV of a card shows at the terminal while an operator types them, and afterwards what is typed shows
    // again. Each prompt says that the terminal is ready for it.
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let terminal = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let shows = || tcgetattr(&terminal).unwrap().local_modes.contains(LocalModes::ECHO);
    assert!(shows());
    let folder = tempfile::tempdir().unwrap();
    let nobody = "http://127.0.0.1:9";
    let mut child = Command::new(env!("CARGO_BIN_EXE_purser"))
        .args([
            "admin",
            "--url",
            nobody,
            "intl-orders",
            "fulfil",
            "card_1",
            "--lease",
            "1",
        ])
        .args(["--billing-address", "1 Main St", "Springfield", "IL", "62701", "US"])
        .current_dir(folder.path())
        .env_clear()
        .env("PURSER_OPERATOR_TOKEN", "op_0123456789")
        .stdin(terminal.try_clone().unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut keyboard = File::from(master);
    for (prompt, typed) in [
        ("card number:", "4000 1234 1234 1234 560\n"),
        ("expiry, MM/YYYY:", "12/2030\n"),
        ("CVV:", "739\n"),
    ] {
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), prompt);
        assert!(!shows());
        keyboard.write_all(typed.as_bytes()).unwrap();
    }
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("cannot be reached") && !rest.contains("739"), "{rest}");
    assert!(shows());
    drop(terminal);
    // Reading ends with an error once nobody has the terminal open any more.
    let mut seen = Vec::new();
    let _ = keyboard.read_to_end(&mut seen);
    let seen = String::from_utf8_lossy(&seen);
    assert!(!seen.contains(|c: char| c.is_ascii_digit()), "{seen:?}");
}

//! Types secrets at a terminal, where a bystander must not be able to read them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

#[test]
fn a_card_is_typed_without_echo() {
    // Checks: card number and CVV are not echoed while an operator types them, and echo is on again afterwards. Each
    // prompt appears when the terminal is ready for input.
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
    let unused_url = "http://127.0.0.1:9";
    let mut child = Command::new(env!("CARGO_BIN_EXE_purser"))
        .args([
            "admin",
            "--url",
            unused_url,
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
    let mut prompts = BufReader::new(child.stderr.take().unwrap());
    let mut keyboard = File::from(master);
    for (prompt, typed) in [
        ("card number:", "4000 1234 1234 1234 560\n"),
        ("expiry, MM/YYYY:", "12/2030\n"),
        ("CVV:", "739\n"),
    ] {
        let mut line = String::new();
        prompts.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), prompt);
        assert!(!shows());
        keyboard.write_all(typed.as_bytes()).unwrap();
    }
    let mut rest = String::new();
    prompts.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{rest}");
    assert!(rest.contains("cannot be reached") && !rest.contains("739"), "{rest}");
    assert!(shows());
    drop(terminal);
    // A read fails once no process has the terminal open.
    let mut seen = Vec::new();
    let _ = keyboard.read_to_end(&mut seen);
    let seen = String::from_utf8_lossy(&seen);
    assert!(!seen.contains(|c: char| c.is_ascii_digit()), "{seen:?}");
}

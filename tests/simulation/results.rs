//! What was found, for `RESULTS.md`: written when `PURSER_SIM_WRITE` is set, and never by a plain test run.

use std::fs;
use std::path::Path;

use parking_lot::Mutex;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Whether this run is one that writes.
pub(crate) fn are_written() -> bool {
    std::env::var_os("PURSER_SIM_WRITE").is_some()
}

/// Puts a text between the marks of its section.
pub(crate) fn write(section: &str, text: &str) {
    if !are_written() {
        return;
    }
    let _one = ONE_AT_A_TIME.lock();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/simulation/RESULTS.md");
    let page = fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {section} -->\n"), format!("<!-- {section} end -->"));
    let (head, rest) = page.split_once(&begin).unwrap();
    let (_, tail) = rest.split_once(&end).unwrap();
    fs::write(&path, format!("{head}{begin}{text}{end}{tail}")).unwrap();
}

#![allow(clippy::unwrap_used)]

use std::path::Path;

use purser_actors::id::{JobId, Wallet};

use super::*;
use purser_host::system::SystemClock;
use purser_sandbox::test_store::store_in;

const WALLET: Wallet = Wallet::Evm([1; 20]);

fn open(dir: &Path) -> Arc<SandboxIdentityCheck> {
    Arc::new(SandboxIdentityCheck::open(&store_in(dir), 0, Arc::new(SystemClock)).unwrap())
}

fn order(key: u128) -> IdentityCheckRequest {
    IdentityCheckRequest {
        key: JobId(key),
        wallet: WALLET,
    }
}

fn form(family_name: &str) -> BTreeMap<String, String> {
    let pairs = [
        ("given_name", "Ada"),
        ("family_name", family_name),
        ("date_of_birth", "1990-12-10"),
        ("country", "GB"),
    ];
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

fn token_of(begun: &StartedCheck) -> &str {
    begun.url.strip_prefix(PAGES).unwrap()
}

// Checks: one key is one check, also after lost responses and a restart; the key is permanently rejected for another
// wallet.
#[tokio::test]
async fn one_key_is_one_check() {
    let dir = tempfile::tempdir().unwrap();
    let provider = open(dir.path());
    let remaining = Some(1);
    let fault = Fault::Timeout;
    provider.faults.add(fault, remaining);
    assert_eq!(provider.start(&order(1)).await.unwrap_err().kind, ErrorKind::Unknown);
    let begun = provider.start(&order(1)).await.unwrap();
    assert_eq!(provider.start(&order(1)).await.unwrap(), begun);
    let other = IdentityCheckRequest {
        wallet: Wallet::Evm([2; 20]),
        ..order(1)
    };
    assert_eq!(provider.start(&other).await.unwrap_err().kind, ErrorKind::Permanent);
    assert_ne!(provider.start(&order(2)).await.unwrap().url, begun.url);
    assert_eq!(provider.state().await.unwrap().started, 2);
    drop(provider);
    let provider = open(dir.path());
    assert_eq!(provider.start(&order(1)).await.unwrap(), begun);
    assert_eq!(provider.state().await.unwrap().started, 2);
}

// Checks: nothing is decided before the person answers; the first answer counts, also after a restart; the reference
// alone does not open the page.
#[tokio::test]
async fn the_first_answer_decides() {
    let dir = tempfile::tempdir().unwrap();
    let provider = open(dir.path());
    let begun = provider.start(&order(1)).await.unwrap();
    let token = token_of(&begun);
    let pending = provider.status(&begun.reference).await.unwrap();
    assert!(matches!(pending, CheckStatus::Pending { .. }), "{pending:?}");
    assert_eq!(provider.page(token), Some(CheckPage::Open));
    assert_eq!(provider.page(&begun.reference), None);
    assert!(provider.submit_form(token, &form("")).await.is_err());
    assert_eq!(
        provider.submit_form(token, &form("Reject")).await,
        Ok(CheckPage::Answered)
    );
    assert_eq!(
        provider.submit_form(token, &form("Lovelace")).await,
        Ok(CheckPage::Answered)
    );
    drop(provider);
    let provider = open(dir.path());
    let reason = "document_mismatch".into();
    let over = CheckStatus::Decided(Verdict::Failed { reason });
    assert_eq!(provider.status(&begun.reference).await.unwrap(), over);
    assert_eq!(provider.page(token), Some(CheckPage::Answered));
    let state = provider.state().await.unwrap();
    assert_eq!((state.passed, state.failed), (0, 1));
}

// Checks: old checks are found in the file when they are no longer in memory.
#[tokio::test]
async fn old_checks_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let provider = open(dir.path());
    let mut all = Vec::new();
    for key in 0..40 {
        let begun = provider.start(&order(key)).await.unwrap();
        provider.submit_form(token_of(&begun), &form("Silent")).await.unwrap();
        all.push(begun);
    }
    for begun in &all {
        let status = provider.status(&begun.reference).await.unwrap();
        assert_eq!(status, CheckStatus::Decided(Verdict::Passed));
    }
}

// Checks: an error reveals whether something may have happened, and a decline is permanent.
#[tokio::test]
async fn faults_reveal_whether_something_may_have_happened() {
    let dir = tempfile::tempdir().unwrap();
    let provider = open(dir.path());
    for (fault, kind) in [
        (Fault::Unreachable, ErrorKind::Temporary),
        (Fault::MalformedResponse, ErrorKind::Unknown),
        (Fault::Decline, ErrorKind::Permanent),
    ] {
        let remaining = Some(1);
        provider.faults.add(fault, remaining);
        assert_eq!(provider.start(&order(9)).await.unwrap_err().kind, kind, "{fault:?}");
    }
    assert_eq!(provider.state().await.unwrap().started, 0);
    assert_eq!(
        provider.status("sbx_check_no").await.unwrap_err().kind,
        ErrorKind::Temporary
    );
}

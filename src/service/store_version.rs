//! Version of a store: which program can read it. A start refuses every other version by name, and `purser upgrade`
//! migrates an older one.

use std::path::Path;

use purser_actors::kernel::table;
use purser_actors::port::BoxFuture;
use purser_storage::{Batch, CommitError, Condition, JournalStore, Store, StoreError, Write};
use tokio::sync::oneshot;

/// Version that this program reads and writes. Raise it when an older program would misread what this one writes, or
/// this one could not read what an older one wrote: with a [`Migration`] from the first release on, and until then with
/// `OLDEST_VERSION`, because no released Purser wrote the version before.
pub const STORE_VERSION: u32 = 6;

/// Oldest version that can be upgraded. Version 1 had jobs in another form, version 2 events, version 3 accounts and all
/// numbers, version 4 sessions, agent wallets and API keys without approvals and limits, version 5 agent wallets without a
/// statement and lists of payments without amounts; none was in a release.
const OLDEST_VERSION: u32 = 6;

/// Steps from each version that can be upgraded to the next, in order.
pub const MIGRATIONS: &[Migration] = &[];

/// META row with the version, as decimal text. It is the first row that is written.
const ROW: &str = "store-version";

/// A step from one version to the next.
pub struct Migration {
    /// Version that it reads. It writes the one above.
    pub from: u32,
    /// Rewrites the rows. After a crash it runs again from the start, so it must leave alone what it has rewritten.
    pub run: for<'a> fn(&'a dyn Store) -> BoxFuture<'a, Result<(), MigrationError>>,
}

/// Why a step could not be completed. It can be run again.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("cannot be written: {0}")]
    Commit(#[from] CommitError),
    /// A row that does not fit, by name.
    #[error("{0}")]
    Row(String),
}

/// Why this program does not work with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreVersionError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the store cannot be written: {0}")]
    Commit(#[from] CommitError),
    #[error(
        "the store has version {found}, and this program reads version {current}: run the newer Purser that wrote it, or restore a backup of before"
    )]
    Newer { found: u32, current: u32 },
    #[error(
        "the store has version {found}, and this program reads version {current}: back it up, then run `purser upgrade`"
    )]
    Older { found: u32, current: u32 },
    #[error(
        "the backup has version {found}, and this program reads version {current}: restore it with the Purser that made it, then run `purser upgrade`"
    )]
    OlderBackup { found: u32, current: u32 },
    #[error(
        "the store was made before stores had versions, by a Purser older than 0.1.0, and cannot be read or upgraded: use another directory"
    )]
    Unversioned,
    #[error(
        "the store has version {0}, which no released Purser wrote, and cannot be read or upgraded: use another directory"
    )]
    Unreleased(u32),
    #[error("the store's version is {0:?}, which is no number: its row is corrupt")]
    Malformed(String),
    #[error("the store has version {0}, from which there is no upgrade")]
    NoMigration(u32),
    #[error("upgrade from version {from}: {error}. The store still has version {from}; run it again")]
    Migration { from: u32, error: MigrationError },
}

/// Version of the store; `None` if nothing was ever written to it.
///
/// # Errors
/// [`StoreVersionError::Unversioned`], [`StoreVersionError::Malformed`], or the store fails.
async fn read(store: &dyn Store) -> Result<Option<u32>, StoreVersionError> {
    let Some(row) = store.read(&table::meta(ROW)).await? else {
        return match store.durable_seq() {
            0 => Ok(None),
            _ => Err(StoreVersionError::Unversioned),
        };
    };
    parse(&row.value).map(Some)
}

fn parse(value: &[u8]) -> Result<u32, StoreVersionError> {
    let text = String::from_utf8_lossy(value);
    text.parse()
        .map_err(|_| StoreVersionError::Malformed(text.into_owned()))
}

const fn compare(found: u32, current: u32) -> Result<(), StoreVersionError> {
    if found > current {
        return Err(StoreVersionError::Newer { found, current });
    }
    if found < OLDEST_VERSION {
        return Err(StoreVersionError::Unreleased(found));
    }
    if found < current {
        return Err(StoreVersionError::Older { found, current });
    }
    Ok(())
}

/// Refuses a store of another version. A new one passes.
///
/// # Errors
/// [`StoreVersionError`] says what to do.
pub async fn check(store: &dyn Store, current: u32) -> Result<(), StoreVersionError> {
    match read(store).await? {
        Some(found) => compare(found, current),
        None => Ok(()),
    }
}

/// Refuses a store of another version, and gives a new one this version before anything else is written to it.
///
/// # Errors
/// As [`check`].
pub(super) async fn check_or_create(store: &dyn Store) -> Result<(), StoreVersionError> {
    check(store, STORE_VERSION).await?;
    if store.durable_seq() == 0 {
        write(store, STORE_VERSION, Condition::Absent(table::meta(ROW))).await?;
    }
    Ok(())
}

/// Refuses a backup of another version before anything of it is restored. Reads the whole file.
///
/// # Errors
/// As [`check`], and when the file is no complete backup.
pub fn check_backup(path: &Path, current: u32) -> Result<(), StoreVersionError> {
    let (row, mut found) = (table::meta(ROW), None);
    JournalStore::read_backup(path, &mut |key, read| {
        if *key == *row {
            found = Some(parse(&read.value));
        }
    })?;
    match found.unwrap_or(Err(StoreVersionError::Unversioned))? {
        found if (OLDEST_VERSION..current).contains(&found) => Err(StoreVersionError::OlderBackup { found, current }),
        found => compare(found, current),
    }
}

/// Whether nothing but the version was ever written to the store.
pub(super) fn is_new(store: &dyn Store) -> bool {
    store.durable_seq() <= 1
}

/// Migrates the store to `current`, one version at a time. Returns the version that it had; `None` for a new store.
///
/// # Errors
/// [`StoreVersionError`]. The store then has the version up to which every step was completed.
pub async fn upgrade(
    store: &dyn Store,
    current: u32,
    migrations: &[Migration],
) -> Result<Option<u32>, StoreVersionError> {
    let Some(began) = read(store).await? else {
        return Ok(None);
    };
    if began > current {
        return Err(StoreVersionError::Newer { found: began, current });
    }
    if began < OLDEST_VERSION {
        return Err(StoreVersionError::Unreleased(began));
    }
    for from in began..current {
        let step = migrations.iter().find(|step| step.from == from);
        let step = step.ok_or(StoreVersionError::NoMigration(from))?;
        let done = (step.run)(store).await;
        done.map_err(|error| StoreVersionError::Migration { from, error })?;
        write(store, from + 1, Condition::Present(table::meta(ROW))).await?;
    }
    Ok(Some(began))
}

async fn write(store: &dyn Store, version: u32, condition: Condition) -> Result<(), CommitError> {
    let put = Write::Put {
        key: table::meta(ROW),
        revision: 0,
        value: version.to_string().into_bytes(),
    };
    let batch = Batch {
        conditions: vec![condition],
        writes: vec![put],
        ..Batch::default()
    };
    let (sender, committed) = oneshot::channel();
    store.commit(batch, Box::new(move |result| drop(sender.send(result))));
    committed.await.unwrap_or(Err(CommitError::Stopped)).map(drop)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test")]
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use purser_storage::{StoreLimits, StoreOptions};

    use super::*;
    use crate::service::restore::put;

    fn open(dir: &Path) -> Arc<JournalStore> {
        let options = StoreOptions {
            dir: dir.join("store"),
            limits: StoreLimits::sandbox(),
            clock: Arc::new(|| 1),
        };
        JournalStore::open(options).unwrap()
    }

    async fn text(store: &dyn Store, name: &str) -> String {
        let row = store.read(&table::meta(name)).await.unwrap().unwrap();
        String::from_utf8(row.value.to_vec()).unwrap()
    }

    static IS_POWER_CUT: AtomicBool = AtomicBool::new(false);

    const NEXT: u32 = STORE_VERSION + 1;

    /// The next version writes these rows in capitals. The power fails between them.
    const STEPS: &[Migration] = &[Migration {
        from: STORE_VERSION,
        run: |store| {
            Box::pin(async move {
                for name in ["toy-a", "toy-b"] {
                    let upper = text(store, name).await.to_uppercase();
                    put(store, table::meta(name), upper.into_bytes()).await.unwrap();
                    if IS_POWER_CUT.load(Ordering::SeqCst) {
                        return Err(MigrationError::Row("the power failed".to_owned()));
                    }
                }
                Ok(())
            })
        },
    }];

    // Checks: a new store gets the version as its first row and keeps it in a backup; a newer, an older, and a store
    // without a version are refused with what to do.
    #[tokio::test]
    async fn a_store_of_another_version_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        check(&*store, 7).await.unwrap();
        check_or_create(&*store).await.unwrap();
        assert!(is_new(&*store) && store.durable_seq() == 1);
        check_or_create(&*store).await.unwrap();
        assert_eq!(store.durable_seq(), 1, "it is written once");
        let error = check(&*store, STORE_VERSION + 1).await.unwrap_err().to_string();
        assert!(
            error.contains("purser upgrade") && error.contains(&format!("version {STORE_VERSION}")),
            "{error}"
        );
        let error = compare(OLDEST_VERSION - 1, STORE_VERSION).unwrap_err();
        assert!(matches!(error, StoreVersionError::Unreleased(_)), "{error}");
        let error = check(&*store, STORE_VERSION - 1).await.unwrap_err().to_string();
        assert!(error.contains("newer Purser"), "{error}");
        let backup = dir.path().join("backup");
        store.backup(&backup).unwrap();
        store.close();
        check_backup(&backup, STORE_VERSION).unwrap();
        let error = check_backup(&backup, STORE_VERSION + 1).unwrap_err().to_string();
        assert!(error.contains("the Purser that made it"), "{error}");
        let error = check_backup(&backup, STORE_VERSION - 1).unwrap_err();
        assert!(matches!(error, StoreVersionError::Newer { .. }), "{error}");
        let restored = dir.path().join("restored");
        JournalStore::restore(&backup, &restored.join("store"), 1).unwrap();
        let restored = open(&restored);
        assert_eq!(read(&*restored).await.unwrap(), Some(STORE_VERSION));
        put(&*restored, table::meta(ROW), b"one".to_vec()).await.unwrap();
        let error = check(&*restored, 1).await.unwrap_err().to_string();
        assert!(error.contains("\"one\""), "{error}");
        restored.close();

        let dir = tempfile::tempdir().unwrap();
        let unversioned = open(dir.path());
        put(&*unversioned, table::meta("something"), Vec::new()).await.unwrap();
        let error = check_or_create(&*unversioned).await.unwrap_err();
        assert!(matches!(error, StoreVersionError::Unversioned), "{error}");
        unversioned.close();
    }

    // Checks: an upgrade runs each step once. One that was interrupted leaves the version and is completed by the next.
    #[tokio::test]
    async fn an_interrupted_upgrade_is_completed_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        assert_eq!(upgrade(&*store, NEXT, STEPS).await.unwrap(), None, "a new store");
        check_or_create(&*store).await.unwrap();
        for name in ["toy-a", "toy-b"] {
            put(&*store, table::meta(name), name.as_bytes().to_vec()).await.unwrap();
        }
        let error = upgrade(&*store, NEXT, &[]).await.unwrap_err();
        assert!(
            matches!(error, StoreVersionError::NoMigration(STORE_VERSION)),
            "{error}"
        );

        IS_POWER_CUT.store(true, Ordering::SeqCst);
        let error = upgrade(&*store, NEXT, STEPS).await.unwrap_err().to_string();
        let kept = format!("still has version {STORE_VERSION}");
        assert!(error.contains(&kept), "{error}");
        store.close();
        drop(store);
        let store = open(dir.path());
        assert_eq!(text(&*store, "toy-a").await, "TOY-A", "the first row was rewritten");
        assert!(check(&*store, NEXT).await.is_err());

        IS_POWER_CUT.store(false, Ordering::SeqCst);
        assert_eq!(upgrade(&*store, NEXT, STEPS).await.unwrap(), Some(STORE_VERSION));
        assert_eq!(
            (text(&*store, "toy-a").await, text(&*store, "toy-b").await),
            ("TOY-A".into(), "TOY-B".into())
        );
        check(&*store, NEXT).await.unwrap();
        assert_eq!(
            upgrade(&*store, NEXT, STEPS).await.unwrap(),
            Some(NEXT),
            "nothing is left to do"
        );
        store.close();
    }

    #[test]
    fn there_is_a_migration_from_every_released_version() {
        let from: Vec<u32> = MIGRATIONS.iter().map(|step| step.from).collect();
        assert_eq!(from, (OLDEST_VERSION..STORE_VERSION).collect::<Vec<_>>());
    }
}

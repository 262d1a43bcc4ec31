use std::fs;
use std::os::unix::fs::PermissionsExt;

use hood_engine::LogQuery;
use hood_engine::ports::{Store, StoreError};
use hood_store::{OpenError, SqliteStore};
use tempfile::TempDir;

use crate::{ended, record};

#[test]
fn the_file_is_its_owners_alone() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("hood.db");
    let _store = SqliteStore::open(&path).unwrap();
    for name in ["hood.db", "hood.db-wal", "hood.db-shm"] {
        let mode = fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[test]
fn what_is_no_database_is_named() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("hood.db");
    fs::write(&path, "this is not a database, but it is long enough to be read as one ".repeat(20)).unwrap();
    let error = SqliteStore::open(&path).err().unwrap();
    assert!(matches!(error, OpenError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
}

#[tokio::test]
async fn a_page_damaged_later_fails_that_call_and_names_the_file() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("hood.db");
    let store = SqliteStore::open(&path).unwrap();
    store.insert(&record(1)).await.unwrap();
    drop(store);
    let mut bytes = fs::read(&path).unwrap();
    bytes[4096..].fill(0xee);
    fs::write(&path, bytes).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let StoreError::Failed { source, .. } = store.load().await.unwrap_err() else { panic!("another error") };
    assert!(source.to_string().contains(path.to_str().unwrap()));
}

#[test]
fn a_newer_schema_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("hood.db");
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let error = SqliteStore::open(&path).err().unwrap();
    assert!(matches!(error, OpenError::TooNew { found: 99, .. }), "{error:?}");
}

#[test]
fn a_missing_folder_is_named() {
    let dir = TempDir::new().unwrap();
    let error = SqliteStore::open(dir.path().join("no/hood.db")).err().unwrap();
    assert!(matches!(error, OpenError::Unreachable { .. }) && error.to_string().contains("no/hood.db"));
}

#[tokio::test]
async fn a_full_disk_is_said_to_be_full_and_nothing_is_lost() {
    let disk = TinyDisk::mount();
    let Some(disk) = disk else {
        eprintln!("skipped: no right to mount a tmpfs");
        return;
    };
    let store = SqliteStore::open(disk.0.path().join("hood.db")).unwrap();
    store.insert(&record(1)).await.unwrap();
    let ballast = disk.0.path().join("ballast");
    // Fails when the disk is full, which is what it is for.
    fs::write(&ballast, vec![0; 4 << 20]).unwrap_err();
    let mut n = 2;
    let error = loop {
        if let Err(error) = store.insert(&record(n)).await {
            break error;
        }
        n += 1;
    };
    assert!(matches!(error, StoreError::Full), "{error:?}");
    assert_eq!(store.load().await.unwrap().len(), usize::from(n) - 1);
    fs::remove_file(&ballast).unwrap();
    store.insert(&record(n)).await.expect("it works again when there is space");
    store.replace(&record(1), &ended(&record(1), 1, true)).await.unwrap();
    assert!(store.logs(&record(1).id, &LogQuery::default()).await.unwrap().is_empty());
}

/// A file system of one mebibyte, for those who may mount one.
struct TinyDisk(TempDir);

impl TinyDisk {
    fn mount() -> Option<Self> {
        let dir = TempDir::new().expect("a folder");
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(dir.path())
            .stderr(std::process::Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then_some(Self(dir))
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // Lazily: the store may still hold its files open.
        let status = std::process::Command::new("umount").arg("-l").arg(self.0.path()).status();
        assert!(status.is_ok_and(|status| status.success()), "{} stays mounted", self.0.path().display());
    }
}

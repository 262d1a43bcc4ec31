use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use hood_engine::TeamId;
use hood_store::{SealError, SecretError, SecretStore, SqliteStore};
use tempfile::TempDir;

use crate::at;

const VALUE: &str = "sk-live-0123456789";

fn open(dir: &TempDir) -> SecretStore {
    let store = SqliteStore::open(dir.path().join("hood.db")).expect("a store");
    SecretStore::open(Arc::new(store), &dir.path().join("secrets.key")).expect("a key")
}

fn team(name: &str) -> TeamId {
    TeamId(name.to_owned())
}

fn labels(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("for".to_owned(), value.to_owned())])
}

#[tokio::test]
async fn a_secret_is_kept_sealed_and_survives_a_restart() {
    let dir = TempDir::new().unwrap();
    let (team, other) = (team("a"), team("b"));
    let secrets = open(&dir);
    let made = secrets.create(&team, "api", VALUE, labels("x"), at(1)).await.unwrap();
    assert!(made.id.starts_with("sec_") && made.version == 1);
    drop(secrets);
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()), "the value lies open");
    }
    let secrets = open(&dir);
    assert_eq!(secrets.find(&team, "api").await.unwrap().as_ref(), Some(&made));
    assert_eq!(secrets.find(&team, &made.id).await.unwrap().as_ref(), Some(&made));
    assert_eq!(secrets.reveal(&team, "api").await.unwrap().unwrap().as_str(), VALUE);
    assert!(secrets.find(&other, "api").await.unwrap().is_none(), "another team's");
    assert!(secrets.reveal(&other, "api").await.unwrap().is_none(), "another team's");
    assert!(!secrets.delete(&other, &made.id).await.unwrap(), "another team's");
}

#[tokio::test]
async fn a_new_value_is_a_new_version() {
    let dir = TempDir::new().unwrap();
    let secrets = open(&dir);
    let team = team("a");
    let made = secrets.create(&team, "api", VALUE, labels("x"), at(1)).await.unwrap();
    let taken = secrets.create(&team, "api", "other", BTreeMap::new(), at(2)).await;
    assert!(matches!(taken, Err(SecretError::Exists(name)) if name == "api"));
    let next = secrets.update(&team, &made.id, "new", None, at(3)).await.unwrap().expect("it is there");
    assert_eq!((next.version, next.metadata, next.created, next.updated), (2, labels("x"), at(1), at(3)));
    assert_eq!(secrets.reveal(&team, "api").await.unwrap().unwrap().as_str(), "new");
    let next =
        secrets.update(&team, "api", "new", Some(labels("y")), at(4)).await.unwrap().expect("it is there");
    assert_eq!((next.version, next.metadata), (3, labels("y")));
    assert!(secrets.update(&team, "none", "new", None, at(5)).await.unwrap().is_none());
    assert!(secrets.delete(&team, "api").await.unwrap());
    assert!(!secrets.delete(&team, "api").await.unwrap());
    assert!(secrets.reveal(&team, "api").await.unwrap().is_none());
}

#[tokio::test]
async fn a_listing_has_pages() {
    let dir = TempDir::new().unwrap();
    let secrets = open(&dir);
    let team = team("a");
    for name in ["c", "a", "b"] {
        secrets.create(&team, name, VALUE, BTreeMap::new(), at(1)).await.unwrap();
    }
    let names = async |after, limit| -> Vec<String> {
        secrets.list(&team, after, limit).await.unwrap().into_iter().map(|secret| secret.name).collect()
    };
    assert_eq!(names(None, 2).await, ["a", "b"]);
    assert_eq!(names(Some("b"), 2).await, ["c"]);
}

#[tokio::test]
async fn with_another_key_a_value_does_not_open_and_the_name_is_told() {
    let dir = TempDir::new().unwrap();
    open(&dir).create(&team("a"), "api", VALUE, BTreeMap::new(), at(1)).await.unwrap();
    let key = dir.path().join("secrets.key");
    std::fs::remove_file(&key).unwrap();
    let revealed = open(&dir).reveal(&team("a"), "api").await;
    assert!(matches!(revealed, Err(SecretError::Sealed { name }) if name == "api"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let store = Arc::new(SqliteStore::open(dir.path().join("hood.db")).unwrap());
    assert!(matches!(SecretStore::open(store, &key), Err(SealError::Exposed { mode: 0o640, .. })));
}

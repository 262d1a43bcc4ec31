use hood_engine::ports::Store;
use hood_store::SqliteStore;

use crate::snapshot;

#[tokio::test]
async fn snapshots_outlive_the_server_until_they_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store.db");
    let (old, new) = (snapshot(1, Some("work:v1")), snapshot(2, None));
    {
        let store = SqliteStore::open(&path).unwrap();
        store.write_snapshots(&[old.clone(), new.clone()]).await.unwrap();
    }
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.snapshots().await.unwrap(), [old.clone(), new.clone()]);

    // The name goes to the newer one.
    let (nameless, named) = (snapshot(1, None), snapshot(2, Some("work:v1")));
    store.write_snapshots(&[nameless.clone(), named.clone()]).await.unwrap();
    assert_eq!(store.snapshots().await.unwrap(), [nameless, named.clone()]);

    store.remove_snapshot(&old.id).await.unwrap();
    store.remove_snapshot(&old.id).await.unwrap();
    assert_eq!(store.snapshots().await.unwrap(), [named]);
}

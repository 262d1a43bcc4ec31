//! The service as a client sees it: JSON in and out of the router, files in a temporary directory.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use axum::body::Body;
use futures_util::StreamExt;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::app::App;
use crate::connect::Frames;
use crate::http::envd;
use crate::testing::{TOKEN, test_app};

struct Client {
    app: App,
    dir: TempDir,
}

impl Client {
    fn new() -> Self {
        Self { app: test_app(), dir: TempDir::new().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.dir.path().display())
    }

    async fn try_call(&self, method: &str, message: Value) -> (StatusCode, Value) {
        let request = Request::post(format!("/filesystem.Filesystem/{method}"))
            .header("content-type", "application/json")
            .header("x-access-token", TOKEN)
            .body(Body::from(message.to_string()))
            .unwrap();
        let response = envd(self.app.clone()).oneshot(request).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    #[track_caller]
    fn call(&self, method: &str, message: Value) -> impl Future<Output = Value> {
        let at = std::panic::Location::caller();
        async move {
            let (status, answer) = self.try_call(method, message).await;
            assert_eq!(status, StatusCode::OK, "{at}: {answer}");
            answer
        }
    }

    async fn refused(&self, method: &str, message: Value) -> String {
        let (status, answer) = self.try_call(method, message).await;
        assert!(!status.is_success(), "{answer}");
        answer["code"].as_str().unwrap().to_owned()
    }

    async fn write(&self, name: &str, bytes: impl Into<Body>) {
        let uri = format!("/files?path={}", self.path(name));
        let request = Request::post(uri)
            .header("x-access-token", TOKEN)
            .header("content-type", "application/octet-stream")
            .body(bytes.into())
            .unwrap();
        let response = envd(self.app.clone()).oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
    }

    async fn watch(&self, name: &str, recursive: bool) -> String {
        let request = json!({"path": self.path(name), "recursive": recursive, "includeEntry": true});
        self.call("CreateWatcher", request).await["watcherId"].as_str().unwrap().to_owned()
    }

    async fn events(&self, watcher: &str) -> Vec<(String, String)> {
        let answer = self.call("GetWatcherEvents", json!({"watcherId": watcher})).await;
        answer["events"].as_array().unwrap().iter().map(named).collect()
    }
}

/// An event as `("CREATE", name)`.
fn named(event: &Value) -> (String, String) {
    let kind = event["type"].as_str().unwrap().trim_start_matches("EVENT_TYPE_");
    (kind.to_owned(), event["name"].as_str().unwrap().to_owned())
}

fn pairs<const N: usize>(expected: [(&str, &str); N]) -> Vec<(String, String)> {
    expected.into_iter().map(|(kind, name)| (kind.to_owned(), name.to_owned())).collect()
}

#[tokio::test]
async fn a_directory_is_made_once_with_its_parents() {
    let client = Client::new();
    let made = client.call("MakeDir", json!({"path": client.path("a/b c/d")})).await;
    assert_eq!(made["entry"]["type"], "FILE_TYPE_DIRECTORY");
    assert_eq!(made["entry"]["permissions"], "drwxr-xr-x");
    assert_eq!(made["entry"]["mode"], 0o755);
    assert_eq!(client.refused("MakeDir", json!({"path": client.path("a/b c/d")})).await, "already_exists");
    fs::write(client.path("f"), "x").unwrap();
    assert_eq!(client.refused("MakeDir", json!({"path": client.path("f")})).await, "invalid_argument");
    assert_eq!(client.refused("MakeDir", json!({"path": client.path("f/g")})).await, "invalid_argument");
}

#[tokio::test]
async fn stat_says_what_a_file_is() {
    let client = Client::new();
    client.write("x%20y.txt", "test").await;
    let stat = client.call("Stat", json!({"path": client.path("x y.txt")})).await;
    let entry = &stat["entry"];
    assert_eq!(entry["name"], "x y.txt");
    assert_eq!(entry["size"], "4");
    assert_eq!(entry["permissions"], "-rw-r--r--");
    assert_eq!(entry["owner"].as_str(), Some(client.app.config.account.user.as_str()));
    assert!(entry["modifiedTime"].as_str().unwrap().ends_with('Z'));
    assert!(entry.get("symlinkTarget").is_none() && entry.get("metadata").is_none());
    assert!(entry.get("isSymlink").is_none());
    assert_eq!(client.refused("Stat", json!({"path": client.path("no")})).await, "not_found");
    assert_eq!(client.refused("Stat", json!({"path": "a\0b"})).await, "invalid_argument");
    assert_eq!(client.refused("Stat", json!({})).await, "invalid_argument");
}

#[tokio::test]
async fn a_link_is_reported_as_what_it_leads_to() {
    let client = Client::new();
    fs::write(client.path("file"), "x").unwrap();
    symlink("file", client.path("link")).unwrap();
    symlink("nothing", client.path("broken")).unwrap();
    symlink("loop", client.path("loop")).unwrap();
    let link = client.call("Stat", json!({"path": client.path("link")})).await;
    assert_eq!(link["entry"]["type"], "FILE_TYPE_FILE");
    assert_eq!(link["entry"]["permissions"], "Lrwxrwxrwx");
    assert_eq!(link["entry"]["mode"], 0o644);
    let real = fs::canonicalize(client.path("file")).unwrap();
    assert_eq!(link["entry"]["symlinkTarget"].as_str(), real.to_str());
    let broken = client.call("Stat", json!({"path": client.path("broken")})).await;
    assert_eq!(broken["entry"]["type"], "FILE_TYPE_UNSPECIFIED");
    assert_eq!(client.refused("ListDir", json!({"path": client.path("loop")})).await, "failed_precondition");
}

#[tokio::test]
async fn a_listing_goes_as_deep_as_asked_and_follows_no_link() {
    let client = Client::new();
    fs::create_dir_all(client.path("d/sub1/deep")).unwrap();
    fs::create_dir_all(client.path("d/sub2")).unwrap();
    fs::write(client.path("d/-rf\n😀"), "").unwrap();
    symlink(client.path("d"), client.path("d/sub1/self")).unwrap();
    symlink(client.path("d"), client.path("link")).unwrap();
    let list = async |path: &str, depth: u32| {
        let answer = client.call("ListDir", json!({"path": client.path(path), "depth": depth})).await;
        let entries = answer["entries"].as_array().unwrap().clone();
        let prefix = format!("{}/", client.path(path));
        let names =
            entries.iter().map(|e| e["path"].as_str().unwrap().strip_prefix(&prefix).unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(list("d", 0).await, ["-rf\n😀", "sub1", "sub2"]);
    let two = ["-rf\n😀", "sub1", "sub1/deep", "sub1/self", "sub2"];
    assert_eq!(list("d", 2).await, two);
    assert_eq!(list("link", 9).await, two);
    assert_eq!(client.refused("ListDir", json!({"path": client.path("no")})).await, "not_found");
    assert_eq!(
        client.refused("ListDir", json!({"path": client.path("d/-rf\n😀")})).await,
        "invalid_argument"
    );
}

#[tokio::test]
async fn moving_makes_parents_and_keeps_what_is_there() {
    let client = Client::new();
    fs::write(client.path("a"), "x").unwrap();
    let moved =
        client.call("Move", json!({"source": client.path("a"), "destination": client.path("n/e w/b")})).await;
    assert_eq!(moved["entry"]["path"].as_str(), Some(client.path("n/e w/b").as_str()));
    assert!(!Path::new(&client.path("a")).exists());
    let gone = json!({"source": client.path("a"), "destination": client.path("c")});
    assert_eq!(client.refused("Move", gone).await, "not_found");
    let onto = json!({"source": client.path("n"), "destination": client.path("n/x")});
    assert_eq!(client.refused("Move", onto).await, "invalid_argument");
}

#[tokio::test]
async fn moving_a_file_to_another_file_system_copies_it() {
    let client = Client::new();
    let Ok(other) = TempDir::new_in("/dev/shm") else { return };
    client.write("a", "bytes").await;
    let to = format!("{}/b", other.path().display());
    client.call("Move", json!({"source": client.path("a"), "destination": to})).await;
    assert_eq!(fs::read_to_string(&to).unwrap(), "bytes");
    assert!(!Path::new(&client.path("a")).exists());
}

#[tokio::test]
async fn removing_takes_links_not_what_they_lead_to() {
    let client = Client::new();
    fs::create_dir_all(client.path("keep")).unwrap();
    fs::write(client.path("keep/file"), "x").unwrap();
    fs::create_dir_all(client.path("tree/a/b")).unwrap();
    symlink(client.path("keep"), client.path("tree/a/link")).unwrap();
    symlink(client.path("keep"), client.path("link")).unwrap();
    client.call("Remove", json!({"path": client.path("tree")})).await;
    client.call("Remove", json!({"path": client.path("link")})).await;
    client.call("Remove", json!({"path": client.path("link")})).await;
    client.call("Remove", json!({"path": client.path("no/such/path")})).await;
    assert!(!Path::new(&client.path("tree")).exists());
    assert_eq!(fs::read_to_string(client.path("keep/file")).unwrap(), "x");
    assert_eq!(client.refused("Remove", json!({"path": "/tmp/.."})).await, "invalid_argument");
}

#[tokio::test]
async fn a_tree_deeper_than_a_path_can_be_is_removed() {
    let client = Client::new();
    let mut at = fs::File::open(client.dir.path()).unwrap();
    for _ in 0..1000 {
        rustix::fs::mkdirat(&at, "deep", rustix::fs::Mode::RWXU).unwrap();
        let flags = rustix::fs::OFlags::DIRECTORY;
        at = rustix::fs::openat(&at, "deep", flags, rustix::fs::Mode::empty()).unwrap().into();
    }
    client.call("Remove", json!({"path": client.path("deep")})).await;
    assert_eq!(fs::read_dir(client.dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn one_upload_of_a_new_file_is_three_events() {
    let client = Client::new();
    fs::create_dir(client.path("d")).unwrap();
    let watcher = client.watch("d", false).await;
    client.write("d/f", "This file will be watched.").await;
    assert_eq!(client.events(&watcher).await, pairs([("CREATE", "f"), ("CHMOD", "f"), ("WRITE", "f")]));
    client.write("d/f", "again").await;
    assert_eq!(client.events(&watcher).await, pairs([("WRITE", "f")]));
    fs::hard_link(client.path("d/f"), client.path("two")).unwrap();
    client.write("d/f", "in place").await;
    assert_eq!(client.events(&watcher).await, pairs([("WRITE", "f")]));
    fs::write(client.path("d/#1"), "x").unwrap();
    fs::set_permissions(client.path("d/#1"), std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(client.events(&watcher).await, pairs([("CREATE", "#1"), ("WRITE", "#1"), ("CHMOD", "#1")]));
}

#[tokio::test]
async fn a_large_slow_upload_is_one_write() {
    let client = Client::new();
    fs::create_dir(client.path("d")).unwrap();
    let watcher = client.watch("d", false).await;
    let chunks = futures_util::stream::iter(0..8).then(|_| async {
        tokio::time::sleep(std::time::Duration::from_millis(150)).await;
        Ok::<_, std::io::Error>(vec![7u8; 1 << 20])
    });
    let upload = client.write("d/f", Body::from_stream(chunks));
    let poll = async {
        let mut events = Vec::new();
        for _ in 0..10 {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            events.extend(client.events(&watcher).await);
        }
        events
    };
    let ((), mut events) = tokio::join!(upload, poll);
    events.extend(client.events(&watcher).await);
    assert_eq!(events, pairs([("CREATE", "f"), ("CHMOD", "f"), ("WRITE", "f")]));
}

#[tokio::test]
async fn a_recursive_watch_sees_new_directories_and_what_is_in_them() {
    let client = Client::new();
    fs::create_dir_all(client.path("d/old")).unwrap();
    let watcher = client.watch("d", true).await;
    client.write("d/old/f", "x").await;
    let old = pairs([("CREATE", "old/f"), ("CHMOD", "old/f"), ("WRITE", "old/f")]);
    assert_eq!(client.events(&watcher).await, old);
    // All at once, before the guest can have watched any of it.
    fs::create_dir_all(client.path("d/n/e/s")).unwrap();
    fs::write(client.path("d/n/e/s/t"), "x").unwrap();
    let events = client.events(&watcher).await;
    let new = pairs([
        ("CREATE", "n"),
        ("CREATE", "n/e"),
        ("CREATE", "n/e/s"),
        ("CREATE", "n/e/s/t"),
        ("WRITE", "n/e/s/t"),
    ]);
    assert_eq!(events, new);
    fs::rename(client.path("d/n/e"), client.path("d/moved")).unwrap();
    client.events(&watcher).await;
    fs::write(client.path("d/moved/s/t2"), "x").unwrap();
    assert_eq!(client.events(&watcher).await, pairs([("CREATE", "moved/s/t2"), ("WRITE", "moved/s/t2")]));
}

#[tokio::test]
async fn renaming_and_removing_are_told_apart() {
    let client = Client::new();
    fs::create_dir(client.path("d")).unwrap();
    fs::write(client.path("d/a"), "x").unwrap();
    let watcher = client.watch("d", false).await;
    fs::rename(client.path("d/a"), client.path("d/b")).unwrap();
    fs::remove_file(client.path("d/b")).unwrap();
    let expected = pairs([("RENAME", "a"), ("CREATE", "b"), ("REMOVE", "b")]);
    assert_eq!(client.events(&watcher).await, expected);
    client.call("RemoveWatcher", json!({"watcherId": watcher})).await;
    assert_eq!(client.refused("GetWatcherEvents", json!({"watcherId": watcher})).await, "not_found");
}

#[tokio::test]
async fn watches_are_bounded_and_need_a_directory() {
    let client = Client::new();
    fs::write(client.path("f"), "x").unwrap();
    assert_eq!(client.refused("CreateWatcher", json!({"path": client.path("no")})).await, "not_found");
    assert_eq!(client.refused("CreateWatcher", json!({"path": client.path("f")})).await, "invalid_argument");
    for _ in 0..64 {
        client.watch("", false).await;
    }
    assert_eq!(client.refused("CreateWatcher", json!({"path": client.path("")})).await, "resource_exhausted");
}

#[tokio::test]
async fn a_stream_starts_tells_and_ends_at_its_deadline() {
    let client = Client::new();
    let message = json!({"path": client.path(""), "includeEntry": true}).to_string();
    let mut body = vec![0];
    body.extend_from_slice(&(message.len() as u32).to_be_bytes());
    body.extend_from_slice(message.as_bytes());
    let request = Request::post("/filesystem.Filesystem/WatchDir")
        .header("x-access-token", TOKEN)
        .header("content-type", "application/connect+json")
        .header("connect-timeout-ms", "1500")
        .header("keepalive-ping-interval", "1")
        .body(Body::from(body))
        .unwrap();
    let response = envd(client.app.clone()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut stream = response.into_body().into_data_stream();
    let mut frames = Frames::default();
    let mut messages: Vec<Value> = Vec::new();
    while let Some(bytes) = stream.next().await {
        frames.push(&bytes.unwrap());
        while let Some((_, payload)) = frames.next().unwrap() {
            messages.push(serde_json::from_slice(&payload).unwrap());
        }
        if messages.len() == 1 {
            client.write("f", "x").await;
        }
    }
    assert_eq!(messages[0], json!({"start": {}}));
    let told: Vec<_> = messages[1..4].iter().map(|message| named(&message["filesystem"])).collect();
    assert_eq!(told, pairs([("CREATE", "f"), ("CHMOD", "f"), ("WRITE", "f")]));
    assert_eq!(messages[3]["filesystem"]["entry"]["name"], "f");
    assert_eq!(messages[4], json!({"keepalive": {}}));
    assert_eq!(messages[5]["error"]["code"], "deadline_exceeded");
}

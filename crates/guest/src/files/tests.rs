//! The endpoints as a client sees them, with files in a temporary directory.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use futures_util::stream;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::signature::{self, Operation};
use crate::app::App;
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

    fn uri(&self, name: &str) -> String {
        format!("/files?path={}", utf8_percent_encode(&self.path(name), NON_ALPHANUMERIC))
    }

    fn metadata(&self, name: &str) -> std::collections::BTreeMap<String, String> {
        let dir = fs::File::open(self.dir.path()).unwrap();
        crate::filesystem::metadata::read(std::os::fd::AsFd::as_fd(&dir), Path::new(name))
    }

    async fn send(&self, request: Request<Body>) -> Response {
        envd(self.app.clone()).oneshot(request).await.unwrap()
    }

    async fn get(&self, name: &str, headers: &[(&str, &str)]) -> (StatusCode, http::HeaderMap, Bytes) {
        let mut request = Request::get(self.uri(name)).header("x-access-token", TOKEN);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = self.send(request.body(Body::empty()).unwrap()).await;
        let (parts, body) = response.into_parts();
        (parts.status, parts.headers, body.collect().await.unwrap().to_bytes())
    }

    async fn put(&self, uri: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> (StatusCode, Value) {
        let mut request = Request::post(uri).header("x-access-token", TOKEN);
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            request = request.header("content-type", "application/octet-stream");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        json_of(self.send(request.body(body.into()).unwrap()).await).await
    }

    async fn put_form(&self, uri: &str, parts: &[(&str, &str)]) -> (StatusCode, Value) {
        self.put(uri, &[("content-type", "multipart/form-data; boundary=XX")], form(parts)).await
    }
}

async fn json_of(response: Response) -> (StatusCode, Value) {
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&bytes).unwrap())
}

fn form(parts: &[(&str, &str)]) -> String {
    let mut body = String::new();
    for (filename, content) in parts {
        body.push_str(&format!(
            "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{filename}\"\r\n\r\n{content}\r\n"
        ));
    }
    body + "--XX--\r\n"
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Neither compressible nor the same twice.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test]
async fn names_come_back_exactly() {
    let client = Client::new();
    for name in ["a b", "😀é", "new\nline", "-rf", "%2e%2e%2f", "q\"uo'te", "back\\slash", "a+b&c=d", "سلام"]
    {
        let (status, answer) = client.put(&client.uri(name), &[], name.to_owned()).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert_eq!(answer, json!([{"path": client.path(name), "name": name, "type": "file"}]));
        assert_eq!(fs::read_to_string(client.path(name)).unwrap(), name);
        let (status, _, body) = client.get(name, &[]).await;
        assert_eq!((status, body), (StatusCode::OK, Bytes::from(name)));
    }
}

#[tokio::test]
async fn paths_that_cannot_be_meant_are_refused() {
    let client = Client::new();
    let long = format!("/files?path={}", "x/".repeat(3000));
    for uri in
        ["/files?path=a%00b", "/files?path=", "/files", "/files?path=%ff", "/files?path=/tmp/x/", &long]
    {
        let (status, answer) = client.put(uri, &[], "x").await;
        assert_eq!((status, answer["code"].as_u64()), (StatusCode::BAD_REQUEST, Some(400)), "{uri}");
    }
    let (status, _) = client.put(&client.uri(&"n".repeat(300)), &[], "x").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    fs::write(client.path("f"), "").unwrap();
    assert_eq!(client.put(&client.uri("f/g"), &[], "x").await.0, StatusCode::BAD_REQUEST);
    assert_eq!(client.put(&client.uri(""), &[], "x").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn only_regular_files_are_read_or_written() {
    let client = Client::new();
    fs::create_dir(client.path("d")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, client.path("fifo"), rustix::fs::Mode::RWXU).unwrap();
    let (status, _, body) = client.get("no", &[]).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let expected = json!({"code": 404, "message": format!("path '{}' does not exist", client.path("no"))});
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    for name in ["d", "fifo"] {
        assert_eq!(client.get(name, &[]).await.0, StatusCode::BAD_REQUEST, "{name}");
        assert_eq!(client.put(&client.uri(name), &[], "x").await.0, StatusCode::BAD_REQUEST, "{name}");
    }
    let request = Request::get("/files?path=/dev/zero").header("x-access-token", TOKEN);
    let response = client.send(request.body(Body::empty()).unwrap()).await;
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn files_of_the_kernel_are_read_to_their_end() {
    let client = Client::new();
    let request = Request::get("/files?path=/proc/self/status").header("x-access-token", TOKEN);
    let response = client.send(request.body(Body::empty()).unwrap()).await;
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert!(body.starts_with(b"Name:"));
}

#[tokio::test]
async fn large_files_stream_whole_and_in_parts() {
    let client = Client::new();
    let bytes = noise(3_000_001);
    let chunks: Vec<_> = bytes.chunks(70_001).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
    let (status, answer) =
        client.put(&client.uri("big.bin"), &[], Body::from_stream(stream::iter(chunks))).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert!(fs::read(client.path("big.bin")).unwrap() == bytes);
    let (status, headers, body) = client.get("big.bin", &[]).await;
    assert_eq!((status, body.len()), (StatusCode::OK, bytes.len()));
    assert!(body == bytes);
    assert_eq!(headers["content-length"], "3000001");
    assert_eq!(headers["content-type"], "application/octet-stream");
    assert_eq!(headers["content-disposition"], "inline; filename=\"big.bin\"");
    assert!(headers.contains_key("last-modified"));
    let range = [("range", "bytes=1000000-2500000"), ("accept-encoding", "gzip")];
    let (status, headers, body) = client.get("big.bin", &range).await;
    assert_eq!(status, StatusCode::PARTIAL_CONTENT);
    assert_eq!(headers["content-range"], "bytes 1000000-2500000/3000001");
    assert!(body == bytes[1_000_000..=2_500_000]);
    let (status, headers, _) = client.get("big.bin", &[("range", "bytes=3000001-")]).await;
    assert_eq!(status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(headers["content-range"], "bytes */3000001");
}

#[tokio::test]
async fn gzip_is_spoken_in_both_directions() {
    let client = Client::new();
    let text = "Streamed text. ".repeat(200_000);
    let (status, _) =
        client.put(&client.uri("t.txt"), &[("content-encoding", "gzip")], gzipped(text.as_bytes())).await;
    assert_eq!(status, StatusCode::OK);
    assert!(fs::read_to_string(client.path("t.txt")).unwrap() == text);
    let (_, headers, body) = client.get("t.txt", &[("accept-encoding", "gzip")]).await;
    assert_eq!(headers["content-encoding"], "gzip");
    let mut decoded = String::new();
    GzDecoder::new(&body[..]).read_to_string(&mut decoded).unwrap();
    assert!(decoded == text);
    assert_eq!(
        client.get("t.txt", &[("accept-encoding", "identity;q=0")]).await.0,
        StatusCode::NOT_ACCEPTABLE
    );
    let cut = &gzipped(text.as_bytes())[..500];
    let (status, _) = client.put(&client.uri("cut"), &[("content-encoding", "gzip")], cut.to_vec()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(!Path::new(&client.path("cut")).exists());
}

#[tokio::test]
async fn a_form_holds_several_files_with_paths_for_names() {
    let client = Client::new();
    let (a, b) = (client.path("x/ä b.txt"), client.path("-y"));
    let (status, answer) = client.put_form("/files", &[(&a, "one\r\n--X"), (&b, "")]).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer[1]["path"], b.as_str());
    assert_eq!(fs::read_to_string(&a).unwrap(), "one\r\n--X");
    assert_eq!(fs::read_to_string(&b).unwrap(), "");
    let (status, answer) = client.put_form("/files", &[(&a, "1"), (&a, "2")]).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    let one = client.uri("one");
    assert_eq!(client.put_form(&one, &[("ignored", "1")]).await.0, StatusCode::OK);
    assert_eq!(client.put_form(&one, &[("a", "1"), ("b", "2")]).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(client.put_form(&one, &[]).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(client.put_form("/files", &[("a\0b", "1")]).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_form_is_read_however_it_is_cut() {
    let client = Client::new();
    let body = form(&[(&client.path("a"), "\r\n--XY\r\n-\r\n"), (&client.path("b"), "B")]).into_bytes();
    for cut in 1..40 {
        let chunks: Vec<_> = body.chunks(cut).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        let headers = [("content-type", "multipart/form-data; boundary=XX")];
        let (status, answer) = client.put("/files", &headers, Body::from_stream(stream::iter(chunks))).await;
        assert_eq!(status, StatusCode::OK, "cut at {cut}: {answer}");
        assert_eq!(fs::read_to_string(client.path("a")).unwrap(), "\r\n--XY\r\n-\r\n", "cut at {cut}");
        assert_eq!(fs::read_to_string(client.path("b")).unwrap(), "B", "cut at {cut}");
    }
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let client = Client::new();
    let broken = || {
        let chunks = [Ok(vec![1u8; 2 << 20]), Err(std::io::Error::other("gone"))];
        Body::from_stream(stream::iter(chunks))
    };
    let (status, answer) = client.put(&client.uri("new"), &[], broken()).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{answer}");
    assert!(!Path::new(&client.path("new")).exists());
    fs::write(client.path("old"), "content").unwrap();
    client.put(&client.uri("old"), &[], broken()).await;
    assert_eq!(fs::read(client.path("old")).unwrap(), b"content");
    assert_eq!(fs::read_dir(client.dir.path()).unwrap().count(), 1);
    let short = [("content-length", "10")];
    assert_eq!(client.put(&client.uri("short"), &short, "x").await.0, StatusCode::BAD_REQUEST);
    assert!(!Path::new(&client.path("short")).exists());
    let unfinished = form(&[(&client.path("u"), "x")]).replace("--XX--", "");
    let headers = [("content-type", "multipart/form-data; boundary=XX")];
    assert_eq!(client.put("/files", &headers, unfinished).await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_content_is_replaced_in_one_step() {
    let client = Client::new();
    fs::write(client.path("f"), "before").unwrap();
    let mut reader = fs::File::open(client.path("f")).unwrap();
    let body = stream::unfold(0, |n| {
        let seen = fs::read(client.path("f")).unwrap();
        async move {
            assert_eq!(seen, b"before", "piece {n}");
            (n < 3).then(|| (Ok::<_, std::io::Error>(vec![b'x'; 1 << 20]), n + 1))
        }
    });
    let body = Body::from_stream(stream::iter(futures_util::StreamExt::collect::<Vec<_>>(body).await));
    assert_eq!(client.put(&client.uri("f"), &[], body).await.0, StatusCode::OK);
    assert_eq!(fs::metadata(client.path("f")).unwrap().len(), 3 << 20);
    let mut old = String::new();
    reader.read_to_string(&mut old).unwrap();
    assert_eq!(old, "before");
}

#[tokio::test]
async fn an_upload_through_a_link_writes_what_it_leads_to() {
    use std::os::unix::fs::symlink;
    let client = Client::new();
    fs::create_dir(client.path("d")).unwrap();
    fs::write(client.path("d/target"), "before").unwrap();
    symlink("d/target", client.path("link")).unwrap();
    symlink("d/new", client.path("dangling")).unwrap();
    for (link, target) in [("link", "d/target"), ("dangling", "d/new")] {
        assert_eq!(client.put(&client.uri(link), &[], "after").await.0, StatusCode::OK);
        assert!(fs::symlink_metadata(client.path(link)).unwrap().is_symlink());
        assert_eq!(fs::read(client.path(target)).unwrap(), b"after");
    }
    symlink("/proc/self/fd/1", client.path("out")).unwrap();
    assert_eq!(client.put(&client.uri("out"), &[], "x").await.0, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_file_with_two_names_keeps_both() {
    let client = Client::new();
    fs::write(client.path("a"), "before").unwrap();
    fs::hard_link(client.path("a"), client.path("b")).unwrap();
    assert_eq!(client.put(&client.uri("a"), &[], "after").await.0, StatusCode::OK);
    assert_eq!(fs::read(client.path("b")).unwrap(), b"after");
}

#[tokio::test]
async fn a_running_program_can_be_replaced() {
    let client = Client::new();
    fs::copy("/bin/sleep", client.path("sleep")).unwrap();
    let mut running = std::process::Command::new(client.path("sleep")).arg("60").spawn().unwrap();
    assert_eq!(client.put(&client.uri("sleep"), &[], "new").await.0, StatusCode::OK);
    running.kill().unwrap();
    running.wait().unwrap();
    assert_eq!(fs::read(client.path("sleep")).unwrap(), b"new");
}

#[tokio::test]
async fn what_shows_at_a_forms_end_counts_for_its_last_file() {
    let client = Client::new();
    let path = client.path("sum");
    let mut body = gzipped(form(&[(&path, "content")]).as_bytes());
    let checksum = body.len() - 8;
    body[checksum] ^= 1;
    let headers = [("content-type", "multipart/form-data; boundary=XX"), ("content-encoding", "gzip")];
    for cut in [1, 3, body.len()] {
        let chunks: Vec<_> = body.chunks(cut).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        let (status, answer) = client.put("/files", &headers, Body::from_stream(stream::iter(chunks))).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "cut at {cut}: {answer}");
        assert!(!Path::new(&path).exists(), "cut at {cut}");
    }
}

#[tokio::test]
async fn two_uploads_to_one_path_do_not_mix() {
    let client = Client::new();
    let uri = client.uri("same");
    let body = |byte: u8| {
        let chunks = stream::unfold(0, move |n| async move {
            tokio::task::yield_now().await;
            (n < 20).then(|| (Ok::<_, std::io::Error>(vec![byte; 200_000]), n + 1))
        });
        Body::from_stream(chunks)
    };
    let (a, b) = tokio::join!(client.put(&uri, &[], body(1)), client.put(&uri, &[], body(2)));
    assert_eq!((a.0, b.0), (StatusCode::OK, StatusCode::OK));
    let bytes = fs::read(client.path("same")).unwrap();
    assert_eq!(bytes.len(), 4_000_000);
    assert!(bytes.iter().all(|byte| *byte == bytes[0]));
}

#[tokio::test]
async fn a_full_disk_is_named() {
    let full = super::error::FilesError::from_io(std::io::Error::from_raw_os_error(libc::ENOSPC), "/a");
    let (status, answer) = json_of(axum::response::IntoResponse::into_response(full)).await;
    assert_eq!((status.as_u16(), answer["code"].as_u64()), (507, Some(507)));
    assert!(answer["message"].as_str().unwrap().contains("'/a'"));
}

#[tokio::test]
async fn metadata_is_stored_and_replaced_by_each_upload() {
    use std::os::unix::fs::PermissionsExt;
    let client = Client::new();
    let headers = [("x-metadata-Author", "mish"), ("x-metadata-purpose", "a b")];
    let (status, answer) = client.put(&client.uri("m"), &headers, "x").await;
    if status == StatusCode::BAD_REQUEST && answer["message"].as_str().is_some_and(|m| m.contains("metadata"))
    {
        return; // A kernel whose temporary directory keeps no user attributes.
    }
    assert_eq!(answer[0]["metadata"], json!({"author": "mish", "purpose": "a b"}));
    assert_eq!(client.metadata("m")["author"], "mish");
    fs::set_permissions(client.path("m"), fs::Permissions::from_mode(0o751)).unwrap();
    let (_, answer) = client.put(&client.uri("m"), &[], "y").await;
    assert!(answer[0].get("metadata").is_none());
    assert!(client.metadata("m").is_empty());
    assert_eq!(fs::metadata(client.path("m")).unwrap().permissions().mode() & 0o777, 0o751);
    let long = "v".repeat(5000);
    assert_eq!(
        client.put(&client.uri("z"), &[("x-metadata-a", &long)], "x").await.0,
        StatusCode::BAD_REQUEST
    );
    assert!(!Path::new(&client.path("z")).exists());
}

#[tokio::test]
async fn a_signature_stands_in_for_the_token() {
    let client = Client::new();
    fs::write(client.path("f"), "bytes").unwrap();
    let user = client.app.config.account.user.clone();
    let url = |operation, expiration: Option<&str>| {
        let made = signature::of(&client.path("f"), operation, &user, TOKEN, expiration);
        let made = utf8_percent_encode(&made, NON_ALPHANUMERIC);
        let expiration = expiration.map(|at| format!("&signature_expiration={at}")).unwrap_or_default();
        format!("{}&username={user}&signature={made}{expiration}", client.uri("f"))
    };
    let get = async |url: String| client.send(Request::get(url).body(Body::empty()).unwrap()).await;
    let read = get(url(Operation::Read, None)).await;
    assert_eq!(read.into_body().collect().await.unwrap().to_bytes(), "bytes");
    assert_eq!(get(url(Operation::Read, Some("99999999999"))).await.status(), StatusCode::OK);
    assert_eq!(get(url(Operation::Write, None)).await.status(), StatusCode::UNAUTHORIZED);
    assert_eq!(get(client.uri("f")).await.status(), StatusCode::UNAUTHORIZED);
    let expired = json_of(get(url(Operation::Read, Some("1000"))).await).await;
    assert_eq!(expired.1, json!({"code": 401, "message": "signature is already expired"}));
    let unknown = client.get("f&username=nobody-here", &[]).await;
    assert_eq!(unknown.0, StatusCode::NOT_FOUND);
    let uri = format!("{}&username=nobody-here", client.uri("f"));
    let (status, answer) = client.put(&uri, &[], "x").await;
    assert_eq!(
        (status, &answer["message"]),
        (StatusCode::UNAUTHORIZED, &json!("invalid username: 'nobody-here'"))
    );
}

#[tokio::test]
async fn head_tells_the_size_and_empty_files_are_empty() {
    let client = Client::new();
    fs::write(client.path("f"), "12345").unwrap();
    fs::write(client.path("e"), "").unwrap();
    let request = Request::head(client.uri("f")).header("x-access-token", TOKEN).body(Body::empty()).unwrap();
    let response = client.send(request).await;
    assert_eq!(response.headers()["content-length"], "5");
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
    let (status, _, body) = client.get("e", &[("accept-encoding", "gzip")]).await;
    assert_eq!((status, body.len()), (StatusCode::OK, 0));
}

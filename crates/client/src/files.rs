//! Files of a sandbox.

use std::io;

use bytes::Bytes;
use futures_util::Stream;
use reqwest::{Body, Method, Response};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::client::{json, next};
use crate::error::ClientError;
use crate::limits;
use crate::sandbox::{ENVD_PORT, Sandbox};

const SERVICE: &str = "filesystem.Filesystem";

/// A file, folder or anything else. Names are the sandbox's words: never used as a path on the host as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// Its last component.
    pub name: String,
    /// What it is; a link is what it leads to.
    #[serde(rename = "type", default)]
    pub kind: EntryKind,
    /// Absolute, inside the sandbox.
    pub path: String,
    /// In bytes.
    #[serde(default, deserialize_with = "int64")]
    pub size: u64,
    /// RFC 3339.
    #[serde(default)]
    pub modified_time: String,
    /// Where a link leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symlink_target: Option<String>,
}

/// What an [`Entry`] is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    /// A regular file.
    #[serde(rename = "FILE_TYPE_FILE")]
    File,
    /// A folder.
    #[serde(rename = "FILE_TYPE_DIRECTORY")]
    Directory,
    /// A pipe, a socket, a link that leads nowhere.
    #[default]
    #[serde(other, rename = "FILE_TYPE_UNSPECIFIED")]
    Other,
}

/// A file being downloaded.
#[derive(Debug)]
pub struct Download {
    sandbox: Sandbox,
    response: Response,
}

#[derive(Deserialize)]
struct Written {
    path: String,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(default)]
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Found {
    entry: Entry,
}

// === impl Sandbox ===

impl Sandbox {
    /// Writes a file and makes its folders; a path that is not absolute begins in the working directory. Returns where
    /// it lies.
    pub async fn put(&self, path: &str, bytes: impl Into<Bytes>) -> Result<String, ClientError> {
        self.upload(path, Body::from(bytes.into())).await
    }

    /// The same from a stream, which is never held whole.
    pub async fn put_stream<S>(&self, path: &str, stream: S) -> Result<String, ClientError>
    where
        S: Stream<Item = io::Result<Bytes>> + Send + 'static,
    {
        self.upload(path, Body::wrap_stream(stream)).await
    }

    async fn upload(&self, path: &str, body: Body) -> Result<String, ClientError> {
        const DOING: &str = "upload the file";
        let request = self
            .request(ENVD_PORT, Method::POST, &["files"])
            .query(&[("path", path)])
            .header("content-type", "application/octet-stream")
            .body(body)
            .timeout(limits::TRANSFER);
        let mut written: Vec<Written> = json(DOING, self.client.send(DOING, request).await?).await?;
        Ok(written.pop().map_or_else(|| path.to_owned(), |written| written.path))
    }

    /// Begins to read a file.
    pub async fn get(&self, path: &str) -> Result<Download, ClientError> {
        let request = self
            .request(ENVD_PORT, Method::GET, &["files"])
            .query(&[("path", path)])
            .timeout(limits::TRANSFER);
        let response = self.client.send("download the file", request).await?;
        Ok(Download { sandbox: self.clone(), response })
    }

    /// Everything beneath a folder, this many levels deep.
    pub async fn list(&self, path: &str, depth: u32) -> Result<Vec<Entry>, ClientError> {
        let ask = json!({ "path": path, "depth": depth });
        let listing: Listing = self.call("list the folder", SERVICE, "ListDir", &ask).await?;
        Ok(listing.entries)
    }

    /// What lies at `path`.
    pub async fn stat(&self, path: &str) -> Result<Entry, ClientError> {
        let found: Found = self.call("look at the file", SERVICE, "Stat", &json!({ "path": path })).await?;
        Ok(found.entry)
    }
}

// === impl Download ===

impl Download {
    /// The next bytes; `None` at the end of the file.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        match next("download the file", &mut self.response).await {
            Ok(bytes) => Ok(bytes),
            Err(error) => Err(self.sandbox.explain(error).await),
        }
    }
}

/// Protobuf's JSON writes an int64 as text, and clients accept a number.
fn int64<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Number(u64),
        Text(String),
    }
    match Either::deserialize(deserializer)? {
        Either::Number(number) => Ok(number),
        Either::Text(text) => text.parse().map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_protobuf_writes_them() {
        let text = r#"{"name":"a","type":"FILE_TYPE_FILE","path":"/a","size":"12","mode":420,"later":1,
            "modifiedTime":"2026-01-01T00:00:00Z"}"#;
        let entry: Entry = serde_json::from_str(text).unwrap();
        assert_eq!((entry.kind, entry.size, entry.symlink_target), (EntryKind::File, 12, None));
        let entry: Entry =
            serde_json::from_str(r#"{"name":"a","path":"/a","type":"FILE_TYPE_NEW"}"#).unwrap();
        assert_eq!((entry.kind, entry.size), (EntryKind::Other, 0));
    }
}

//! Signed file URLs carry no sandbox id: the sandbox is the one whose token makes the same signature.

use axum::extract::Request;
use axum::http::{Method, header};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use hood_engine::Token;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::extract::Query;

/// The one path that may be signed.
const FILES: &str = "/files";

/// What a signed URL says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Signed {
    path: String,
    operation: &'static str,
    user: String,
    expiration: Option<String>,
    signature: String,
}

// === impl Signed ===

impl Signed {
    /// The parts of a signed URL, if the request is for one.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        if request.uri().path() != FILES {
            return None;
        }
        let query = Query::parse(request.uri().query()?).ok()?;
        Some(Self {
            path: query.raw("path").unwrap_or_default().to_owned(),
            operation: operation(request)?,
            user: query.raw("username").unwrap_or_default().to_owned(),
            expiration: query.get("signature_expiration").map(str::to_owned),
            // A plus that came unencoded has become a space, which no signature contains.
            signature: query.get("signature")?.replace(' ', "+"),
        })
    }

    /// Whether this token made the signature. Whether it has expired is the guest's to say.
    pub(super) fn is_by(&self, token: &Token) -> bool {
        let made = sign(&self.path, self.operation, &self.user, token, self.expiration.as_deref());
        made.as_bytes().ct_eq(self.signature.as_bytes()).into()
    }
}

/// A preflight asks on behalf of another method.
fn operation<B>(request: &Request<B>) -> Option<&'static str> {
    let asked = match *request.method() {
        Method::OPTIONS => request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD)?.to_str().ok()?,
        ref method => method.as_str(),
    };
    match asked {
        "GET" | "HEAD" => Some("read"),
        "POST" => Some("write"),
        _ => None,
    }
}

/// E2B's scheme (reference 1.6).
fn sign(path: &str, operation: &str, user: &str, token: &Token, expiration: Option<&str>) -> String {
    let mut hash = Sha256::new();
    for part in [path, ":", operation, ":", user, ":", &token.0] {
        hash.update(part);
    }
    if let Some(expiration) = expiration {
        hash.update(":");
        hash.update(expiration);
    }
    format!("v1_{}", STANDARD_NO_PAD.encode(hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token("0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0".into())
    }

    fn get(uri: &str) -> Request<()> {
        Request::builder().uri(uri).body(()).expect("a request")
    }

    #[test]
    fn the_published_vector_is_reproduced() {
        let made = sign("hello.txt", "read", "user", &token(), None);
        assert_eq!(made, "v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
    }

    #[test]
    fn a_url_finds_its_token_and_no_other() {
        let uri =
            "/files?path=hello.txt&username=user&signature=v1_gUtH%2Fs9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E";
        let signed = Signed::of(&get(uri)).expect("signed");
        assert!(signed.is_by(&token()));
        assert!(!signed.is_by(&Token("another".into())));
        let later = Signed::of(&get(&format!("{uri}&signature_expiration=1900000000"))).expect("signed");
        assert!(!later.is_by(&token()));
    }

    #[test]
    fn a_plus_may_come_as_it_is() {
        // The first path whose signature has one.
        let signed = |n: u32| (n, sign(&n.to_string(), "read", "", &token(), None));
        let (path, signature) =
            (0..1000).map(signed).find(|(_, made)| made.contains('+')).expect("one in two has a plus");
        let uri = format!("/files?path={path}&signature={signature}");
        assert!(Signed::of(&get(&uri)).expect("signed").is_by(&token()));
    }

    #[test]
    fn only_files_are_signed() {
        assert_eq!(Signed::of(&get("/execute?signature=v1_x")), None);
        assert_eq!(Signed::of(&get("/files?path=a")), None);
    }
}

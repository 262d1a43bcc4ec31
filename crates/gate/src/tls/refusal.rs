//! What the gate says to the program inside instead of passing its request on.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};

/// Why a request is answered by the gate. The text is the page: it names the rule, never a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// The request is for another host than the connection.
    #[error("this connection was opened to `{expected}`, the request is for `{found}`")]
    OtherHost {
        /// What the connection is for.
        expected: String,
        /// What the request names.
        found: String,
    },
    /// There is no single host.
    #[error("the request must name `{expected}` once, in `Host` or `:authority`")]
    NoHost {
        /// What the connection is for.
        expected: String,
    },
    /// `CONNECT`.
    #[error("a tunnel through `{expected}` is not let through")]
    Tunnel {
        /// What the connection is for.
        expected: String,
    },
    /// The request rules of the policy.
    #[error("the policy's rules for `{host}` do not allow {method} {path}")]
    Rule {
        /// Which host.
        host: String,
        /// The request's method.
        method: String,
        /// The request's path, without its query.
        path: String,
    },
    /// A secret that a rule names does not exist.
    #[error("there is no secret `{name}`, which a rule of the policy puts into requests to this host")]
    UnknownSecret {
        /// The secret's name.
        name: String,
    },
    /// `${e2b.…}` with something else inside.
    #[error("a rule of the policy holds `${{e2b.{placeholder}}}`, which this server does not know")]
    UnknownPlaceholder {
        /// What is inside.
        placeholder: String,
    },
    /// The store failed.
    #[error("the server cannot read its secrets now; its log says why")]
    SecretsUnreadable,
    /// A secret would go out in clear text.
    #[error("a rule of the policy puts a secret into requests to this host, which is done over https only")]
    ClearText,
    /// A header of a rule cannot be set.
    #[error(
        "a rule of the policy cannot set the header `{header}`: its name or value is not allowed in a request"
    )]
    BadHeader {
        /// Its name.
        header: String,
    },
    /// No connection to the host.
    #[error("`{host}` cannot be reached: {why}")]
    Unreachable {
        /// Which host.
        host: String,
        /// Why.
        why: String,
    },
    /// The host broke off.
    #[error("`{host}` has closed the connection before it answered")]
    Broken {
        /// Which host.
        host: String,
    },
}

/// A body of whatever origin.
pub(super) type AnyBody = UnsyncBoxBody<Bytes, hyper::Error>;

/// Tells a program's author that it was the gate that answered, and on which side the fault lies.
const MARK: &str = "x-hood-gate";

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::OtherHost { .. } | Self::NoHost { .. } => StatusCode::MISDIRECTED_REQUEST,
            Self::Tunnel { .. } | Self::Rule { .. } => StatusCode::FORBIDDEN,
            Self::UnknownSecret { .. }
            | Self::UnknownPlaceholder { .. }
            | Self::SecretsUnreadable
            | Self::ClearText
            | Self::BadHeader { .. }
            | Self::Unreachable { .. }
            | Self::Broken { .. } => StatusCode::BAD_GATEWAY,
        }
    }

    fn mark(&self) -> &'static str {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } => "upstream",
            _ => "refused",
        }
    }

    /// The answer.
    pub(super) fn page(&self) -> Response<AnyBody> {
        let text = format!("Refused by the sandbox's gate: {self}\n");
        let body = Full::new(Bytes::from(text)).map_err(|never: Infallible| match never {}).boxed_unsync();
        let mut response = Response::new(body);
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        headers.insert(MARK, HeaderValue::from_static(self.mark()));
        response
    }
}

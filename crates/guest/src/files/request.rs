//! Who asks for which path: the query, the token or the signature, the account.

use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, Uri};
use percent_encoding::percent_decode_str;

use super::error::FilesError;
use super::signature::{self, Operation};
use crate::accounts::Account;
use crate::app::App;
use crate::launch;
use crate::paths;

/// What the query says. Values are exact: a name that is not UTF-8 is refused rather than bent into another one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) path: Option<String>,
    username: Option<String>,
    signature: Option<String>,
    expiration: Option<String>,
}

impl Query {
    pub(super) fn parse(uri: &Uri) -> Result<Self, FilesError> {
        let mut query = Self::default();
        for pair in uri.query().unwrap_or_default().split('&') {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let field = match key {
                "path" => &mut query.path,
                "username" => &mut query.username,
                "signature" => &mut query.signature,
                "signature_expiration" => &mut query.expiration,
                _ => continue,
            };
            // As HTML forms write it, where a space is a plus.
            let spaced = value.replace('+', " ");
            let decoded = percent_decode_str(&spaced).decode_utf8().map_err(|_| FilesError::BadQuery)?;
            *field = (!decoded.is_empty()).then(|| decoded.into_owned());
        }
        Ok(query)
    }
}

/// Lets the request in, by the token or by the query's signature, and finds its account.
pub(super) fn admit(
    app: &App,
    headers: &HeaderMap,
    query: &Query,
    operation: Operation,
) -> Result<Account, FilesError> {
    if !crate::http::has_token(app, headers) {
        check_signature(&app.config.access_token, query, operation)?;
    }
    Ok(launch::account(app, query.username.as_deref())?)
}

pub(super) fn check_signature(token: &str, query: &Query, operation: Operation) -> Result<(), FilesError> {
    // A plus that came unencoded has become a space, which no signature contains.
    let given = query.signature.as_deref().ok_or(FilesError::NoCredential)?.replace(' ', "+");
    let expected = signature::of(
        query.path.as_deref().unwrap_or_default(),
        operation,
        query.username.as_deref().unwrap_or_default(),
        token,
        query.expiration.as_deref(),
    );
    if !signature::same(&expected, &given) {
        return Err(FilesError::BadSignature);
    }
    let Some(expiration) = &query.expiration else { return Ok(()) };
    let expiration: i64 = expiration.parse().map_err(|_| FilesError::BadSignature)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    if i128::from(expiration) < i128::from(now) { Err(FilesError::Expired) } else { Ok(()) }
}

/// The absolute path of a file that is to be written.
pub(super) fn file_path(app: &App, account: &Account, path: &str) -> Result<String, FilesError> {
    let absolute = paths::absolute(app, account, path)?;
    if path.ends_with('/') || absolute == "/" {
        return Err(FilesError::TrailingSlash(path.to_owned()));
    }
    Ok(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_are_exact() {
        let uri = "/files?path=a%20b%2B%2e%2e%2f+%F0%9F%98%80&username=&x=1".parse().unwrap();
        let query = Query::parse(&uri).unwrap();
        assert_eq!(query, Query { path: Some("a b+../ 😀".into()), ..Query::default() });
        assert!(matches!(Query::parse(&"/files?path=%ff".parse().unwrap()), Err(FilesError::BadQuery)));
    }
}

//! Secrets put into the values of headers.

use hood_policy::Transform;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::refusal::Refusal;
use super::rules::remove_alike;
use crate::secrets::{SecretValue, Secrets};

/// How a value names a secret: `${e2b.secrets.NAME}` (reference `e2b.md` 2.4).
const OPEN: &str = "${e2b.";
const SECRETS: &str = "secrets.";

/// Headers that say where a request goes or how it is cut into bytes: a rule that set them would undo what the gate
/// has checked.
const OURS: [HeaderName; 10] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::UPGRADE,
    header::TRAILER,
    header::EXPECT,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Sets the headers of a rule, and returns the secrets that went into them.
pub(super) async fn fill(
    headers: &mut HeaderMap,
    transform: &Transform,
    team: &str,
    secrets: &dyn Secrets,
) -> Result<Vec<SecretValue>, Refusal> {
    let mut used = Vec::new();
    for (name, template) in &transform.headers {
        let unusable = || Refusal::BadHeader { header: name.escape_debug().to_string() };
        let parsed: HeaderName = name.parse().map_err(|_| unusable())?;
        if OURS.contains(&parsed) {
            return Err(unusable());
        }
        let before = used.len();
        let text = filled(template, team, secrets, &mut used).await?;
        // The error of a bad value would quote nothing of it, and neither do we.
        let mut value = HeaderValue::from_str(text.expose()).map_err(|_| unusable())?;
        value.set_sensitive(used.len() > before);
        // A second spelling from inside would join it.
        remove_alike(headers, parsed.as_str());
        headers.insert(parsed, value);
    }
    Ok(used)
}

async fn filled(
    template: &str,
    team: &str,
    secrets: &dyn Secrets,
    used: &mut Vec<SecretValue>,
) -> Result<SecretValue, Refusal> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push_str(before);
        let unknown = |inside: &str| {
            let placeholder = inside.escape_debug().take(64).collect();
            Err(Refusal::UnknownPlaceholder { placeholder })
        };
        let Some((inside, after)) = after.split_once('}') else { return unknown(after) };
        let Some(name) = inside.strip_prefix(SECRETS) else { return unknown(inside) };
        // Names are kept in lower case.
        let name = name.to_ascii_lowercase();
        let value = secrets.reveal(team, &name).await.map_err(|error| {
            tracing::warn!(error = &error as &dyn std::error::Error, "cannot read a secret");
            Refusal::SecretsUnreadable
        })?;
        let Some(value) = value else {
            return Err(Refusal::UnknownSecret { name: name.escape_debug().take(128).collect() });
        };
        text.push_str(value.expose());
        used.push(value);
        rest = after;
    }
    text.push_str(rest);
    Ok(SecretValue::new(text))
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::secrets::RevealError;

    struct One;

    #[async_trait]
    impl Secrets for One {
        async fn reveal(&self, team: &str, name: &str) -> Result<Option<SecretValue>, RevealError> {
            Ok((team == "team" && name == "key").then(|| SecretValue::new("s3cr3t".to_owned())))
        }
    }

    async fn set(value: &str) -> Result<(HeaderMap, usize), Refusal> {
        let transform = Transform { headers: [("X-A".to_owned(), value.to_owned())].into() };
        let mut headers = HeaderMap::new();
        headers.append("x-a", HeaderValue::from_static("from inside"));
        headers.append("x-a", HeaderValue::from_static("twice"));
        headers.insert("x_a", HeaderValue::from_static("in disguise"));
        let used = fill(&mut headers, &transform, "team", &One).await?;
        Ok((headers, used.len()))
    }

    #[tokio::test]
    async fn secrets_go_where_they_are_named() {
        let (headers, used) = set("a ${e2b.secrets.KEY} b ${e2b.secrets.key} ${HOME}").await.unwrap();
        assert_eq!(headers["x-a"], "a s3cr3t b s3cr3t ${HOME}");
        assert_eq!(headers.get_all("x-a").iter().count(), 1, "what came from inside is replaced");
        assert!(headers["x-a"].is_sensitive() && !headers.contains_key("x_a"));
        assert_eq!(used, 2);
    }

    #[tokio::test]
    async fn what_cannot_be_filled_is_named_without_any_value() {
        for (value, said) in [
            ("${e2b.secrets.other}", "no secret `other`"),
            ("${e2b.secrets.key", "`${e2b.secrets.key}`, which"),
            ("${e2b.identity.tokens.x}", "identity.tokens.x"),
            ("a\nb: ${e2b.secrets.key}", "cannot set the header `X-A`"),
        ] {
            let text = set(value).await.expect_err(value).to_string();
            assert!(text.contains(said) && !text.contains("s3cr3t"), "{text}");
        }
    }

    #[tokio::test]
    async fn a_rule_cannot_set_what_the_gate_has_checked() {
        let transform = Transform { headers: [("Host".to_owned(), "other".to_owned())].into() };
        let refused = fill(&mut HeaderMap::new(), &transform, "team", &One).await;
        assert!(matches!(refused, Err(Refusal::BadHeader { .. })));
    }
}

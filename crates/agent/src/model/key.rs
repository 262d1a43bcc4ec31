//! The model's key: a secret that is sent in one header and can be printed nowhere.

use std::fmt;

use reqwest::header::HeaderValue;

use super::ConfigError;

/// A key, checked to fit into a header. It has no `Display`, is not serialised, and its `Debug` hides it.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key as the user gave it, white space around it removed.
    pub fn parse(given: &str) -> Result<Self, ConfigError> {
        let key = given.trim();
        if key.is_empty() || HeaderValue::from_str(key).is_err() {
            return Err(ConfigError::KeyMalformed);
        }
        Ok(Self(key.to_owned()))
    }

    /// As a header's value, with `prefix` before it, marked so that HTTP libraries do not log it.
    pub(crate) fn header(&self, prefix: &str) -> HeaderValue {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).expect("checked by `parse`");
        value.set_sensitive(true);
        value
    }

    /// `text` with the key replaced, for words that came from an endpoint: some echo what they refuse.
    pub(crate) fn hide_in(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([hidden])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_shows_itself_nowhere() {
        let key = ApiKey::parse(" sk-secret\n").unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey([hidden])");
        assert_eq!(key.hide_in("Incorrect API key: sk-secret."), "Incorrect API key: [key].");
        assert_eq!(format!("{:?}", key.header("Bearer ")), "Sensitive");
    }

    #[test]
    fn a_key_that_fits_no_header_is_refused() {
        assert!(matches!(ApiKey::parse("two\nlines"), Err(ConfigError::KeyMalformed)));
        assert!(matches!(ApiKey::parse("  "), Err(ConfigError::KeyMalformed)));
    }
}

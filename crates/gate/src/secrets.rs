//! Values that are put into requests on their way out and exist nowhere inside a sandbox.

use std::fmt;

use async_trait::async_trait;
use zeroize::Zeroizing;

/// A secret's value. Never printed by `Debug`, overwritten when dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretValue(Zeroizing<String>);

/// Where values are looked up. The gate asks at every request that names one, so that a new value counts at once.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// The value of a team's secret; `None` where there is none of that name.
    async fn reveal(&self, team: &str, name: &str) -> Result<Option<SecretValue>, RevealError>;
}

/// Secrets cannot be looked up now. The cause is for the log.
#[derive(Debug, thiserror::Error)]
#[error("secrets cannot be read")]
pub struct RevealError(#[source] pub Box<dyn std::error::Error + Send + Sync>);

/// There are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSecrets;

// === impl SecretValue ===

impl SecretValue {
    /// Keeps a value.
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself: for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretValue(…)")
    }
}

#[async_trait]
impl Secrets for NoSecrets {
    async fn reveal(&self, _team: &str, _name: &str) -> Result<Option<SecretValue>, RevealError> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_printed() {
        assert_eq!(format!("{:?}", SecretValue::new("hunter2".to_owned())), "SecretValue(…)");
    }
}

//! What this dialect needs of a keeper of secrets. Their values go in and never come out.

use std::collections::BTreeMap;
use std::error::Error;

use async_trait::async_trait;
use hood_engine::TeamId;
use time::OffsetDateTime;

/// Where secrets are kept.
#[async_trait]
pub trait Secrets: Send + Sync {
    /// Those after a name, in the order of their names; at most `limit`.
    async fn list(
        &self,
        team: &TeamId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Secret>, SecretsError>;

    /// A new one.
    async fn create(
        &self,
        team: &TeamId,
        name: &str,
        value: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<Secret, SecretsError>;

    /// One, by id or name.
    async fn find(&self, team: &TeamId, reference: &str) -> Result<Option<Secret>, SecretsError>;

    /// Gives one a new value, and new labels where they are given.
    async fn update(
        &self,
        team: &TeamId,
        reference: &str,
        value: &str,
        metadata: Option<BTreeMap<String, String>>,
    ) -> Result<Option<Secret>, SecretsError>;

    /// Forgets one; whether there was one.
    async fn delete(&self, team: &TeamId, reference: &str) -> Result<bool, SecretsError>;
}

/// What may be known of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Beginning with `sec_`.
    pub id: String,
    /// Unique within its team, in lower case.
    pub name: String,
    /// How many values it has had.
    pub version: u64,
    /// Its owner's labels.
    pub metadata: BTreeMap<String, String>,
    /// When it was made.
    pub created: OffsetDateTime,
    /// When its value was last set.
    pub updated: OffsetDateTime,
}

/// A secret could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// The name is taken.
    #[error("there is a secret of this name already")]
    Exists,
    /// The team has as many as it may.
    #[error("this team has {0} secrets, which is the most")]
    TooMany(usize),
    /// Anything else; never holds a value.
    #[error("secrets cannot be reached")]
    Failed(#[source] Box<dyn Error + Send + Sync>),
}

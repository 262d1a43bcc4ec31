//! The store's secrets, as the dialect and the gate each see them.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use hood_dialect_e2b::{Secret, Secrets, SecretsError};
use hood_engine::TeamId;
use hood_gate::{RevealError, SecretValue};
use hood_store::{SecretError, SecretStore};
use time::OffsetDateTime;

/// A cheap handle.
#[derive(Clone)]
pub(super) struct StoredSecrets(pub(super) Arc<SecretStore>);

/// The dialect's half: everything but values.
#[async_trait]
impl Secrets for StoredSecrets {
    async fn list(
        &self,
        team: &TeamId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Secret>, SecretsError> {
        let found = self.0.list(team, after, limit).await.map_err(refused)?;
        Ok(found.into_iter().map(shown).collect())
    }

    async fn create(
        &self,
        team: &TeamId,
        name: &str,
        value: &str,
        metadata: BTreeMap<String, String>,
    ) -> Result<Secret, SecretsError> {
        let now = OffsetDateTime::now_utc();
        self.0.create(team, name, value, metadata, now).await.map(shown).map_err(refused)
    }

    async fn find(&self, team: &TeamId, reference: &str) -> Result<Option<Secret>, SecretsError> {
        Ok(self.0.find(team, reference).await.map_err(refused)?.map(shown))
    }

    async fn update(
        &self,
        team: &TeamId,
        reference: &str,
        value: &str,
        metadata: Option<BTreeMap<String, String>>,
    ) -> Result<Option<Secret>, SecretsError> {
        let now = OffsetDateTime::now_utc();
        Ok(self.0.update(team, reference, value, metadata, now).await.map_err(refused)?.map(shown))
    }

    async fn delete(&self, team: &TeamId, reference: &str) -> Result<bool, SecretsError> {
        self.0.delete(team, reference).await.map_err(refused)
    }
}

/// The gate's half: values, and nothing else.
#[async_trait]
impl hood_gate::Secrets for StoredSecrets {
    async fn reveal(&self, team: &str, name: &str) -> Result<Option<SecretValue>, RevealError> {
        let found = self.0.reveal(&TeamId(team.to_owned()), name).await;
        let found = found.map_err(|error| RevealError(error.into()))?;
        Ok(found.map(|value| SecretValue::new(value.to_string())))
    }
}

fn shown(secret: hood_store::Secret) -> Secret {
    let hood_store::Secret { id, name, version, metadata, created, updated } = secret;
    Secret { id, name, version, metadata, created, updated }
}

fn refused(error: SecretError) -> SecretsError {
    match error {
        SecretError::Exists(_) => SecretsError::Exists,
        SecretError::TooMany => SecretsError::TooMany(hood_store::limits::SECRETS),
        SecretError::Sealed { .. } | SecretError::Store(_) => SecretsError::Failed(error.into()),
    }
}

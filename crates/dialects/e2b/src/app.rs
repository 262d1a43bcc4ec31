//! What the handlers share, and the one thing this dialect needs from the host beside the engine: whose key is it.

use std::sync::Arc;

use async_trait::async_trait;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use hood_engine::ports::{Store, StoreError, Templates};
use hood_engine::{Engine, TeamId};
use sha2::{Digest, Sha256};
use tokio_util::task::TaskTracker;

use crate::idempotency::Idempotency;
use crate::secrets::Secrets;

/// Whose API key is it.
#[async_trait]
pub trait Keys: Send + Sync {
    /// The team a key belongs to; `None` when nobody made that key.
    async fn team_of(&self, key: &str) -> Result<Option<TeamId>, StoreError>;
}

/// Keys as the store keeps them: by their SHA-256.
///
/// A plain hash is enough because a key is 160 random bits, and looking it up by hash leaks nothing through time.
pub struct StoredKeys(pub Arc<dyn Store>);

#[async_trait]
impl Keys for StoredKeys {
    async fn team_of(&self, key: &str) -> Result<Option<TeamId>, StoreError> {
        self.0.team_of(&Sha256::digest(key.as_bytes()).into()).await
    }
}

/// What every handler is given.
#[derive(Clone)]
pub struct App {
    pub(crate) engine: Engine,
    pub(crate) keys: Arc<dyn Keys>,
    pub(crate) templates: Arc<dyn Templates>,
    pub(crate) secrets: Option<Arc<dyn Secrets>>,
    pub(crate) domain: Arc<str>,
    pub(crate) idempotency: Arc<Idempotency>,
    /// Tunnels, and bodies being read out: what goes on after an answer.
    pub(crate) tasks: TaskTracker,
}

impl App {
    /// Whose API key a request carries, or the answer to one that carries none: for routes of the host's own.
    pub async fn caller(&self, headers: &HeaderMap) -> Result<TeamId, Response> {
        crate::extract::team_of(self, headers).await.map_err(IntoResponse::into_response)
    }

    /// `domain` is what clients are told for `get_host()`, with its port where it is not 443
    /// (`fumehood.test:8443`); hosts of the form `<port>-<id>.<domain>` are routed into sandboxes.
    pub fn new(engine: Engine, keys: Arc<dyn Keys>, templates: Arc<dyn Templates>, domain: &str) -> Self {
        Self {
            engine,
            keys,
            templates,
            secrets: None,
            domain: domain.to_ascii_lowercase().into(),
            idempotency: Arc::new(Idempotency::default()),
            tasks: TaskTracker::new(),
        }
    }

    /// With a keeper of secrets; without one there are none.
    #[must_use]
    pub fn with_secrets(self, secrets: Arc<dyn Secrets>) -> Self {
        Self { secrets: Some(secrets), ..self }
    }
}

//! The way into one sandbox: the server's address with headers that say where to.

use reqwest::{Method, RequestBuilder};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::{Client, json};
use crate::error::ClientError;
use crate::limits;

/// Processes and files are served here: the port of E2B's envd.
pub(crate) const ENVD_PORT: u16 = 49983;
/// Cells are served here: the port of E2B's code interpreter.
pub(crate) const CODE_PORT: u16 = 49999;

/// A running sandbox. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sandbox {
    pub(crate) client: Client,
    id: String,
    token: String,
}

// === impl Sandbox ===

impl Sandbox {
    pub(crate) fn new(client: Client, id: String, token: String) -> Self {
        Self { client, id, token }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The server that it runs on.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Ends it; false when it had ended before.
    pub async fn kill(&self) -> Result<bool, ClientError> {
        self.client.kill(&self.id).await
    }

    /// A request to one of its ports.
    pub(crate) fn request(&self, port: u16, method: Method, segments: &[&str]) -> RequestBuilder {
        self.client
            .request(method, segments)
            .header("e2b-sandbox-id", &self.id)
            .header("e2b-sandbox-port", port)
            .header("x-access-token", &self.token)
    }

    /// A remote procedure that answers once.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        doing: &'static str,
        service: &str,
        method: &str,
        ask: &impl Serialize,
    ) -> Result<T, ClientError> {
        let request = self.request(ENVD_PORT, Method::POST, &[service, method]);
        let request = request.header("connect-protocol-version", "1").json(ask).timeout(limits::CALL);
        json(doing, self.client.send(doing, request).await?).await
    }

    /// Why a stream really broke: a server cuts it when its sandbox ends.
    pub(crate) async fn explain(&self, error: ClientError) -> ClientError {
        if !matches!(error, ClientError::Broken { .. }) {
            return error;
        }
        let request = self.request(ENVD_PORT, Method::GET, &["health"]).timeout(limits::PROBE);
        match self.client.send("reach the sandbox", request).await {
            Err(gone @ ClientError::Gone { .. }) => gone,
            _ => error,
        }
    }
}

//! A secret as clients see it.

use std::collections::BTreeMap;

use serde::Serialize;

use super::When;

/// Everything but its value.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Secret {
    #[serde(rename = "secretID")]
    id: String,
    name: String,
    current_version: u64,
    metadata: BTreeMap<String, String>,
    created_at: When,
    updated_at: When,
}

impl From<crate::secrets::Secret> for Secret {
    fn from(secret: crate::secrets::Secret) -> Self {
        Self {
            id: secret.id,
            name: secret.name,
            current_version: secret.version,
            metadata: secret.metadata,
            created_at: When(secret.created),
            updated_at: When(secret.updated),
        }
    }
}

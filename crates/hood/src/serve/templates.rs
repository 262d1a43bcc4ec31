//! Templates on disk, as the engine sees them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use hood_driver_api::{Bytes, MilliCpu, Nursery, Origin, Resources, RootFs};
use hood_engine::Template;
use hood_engine::ports::Templates;
use hood_images::{LayerKey, Store};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use super::trust::Trust;
use crate::limits::{DISK, PIDS};

/// The store of templates, each made to trust the gate. Read at every look-up, so that a template built meanwhile is found.
#[derive(Clone)]
pub(super) struct InstalledTemplates {
    store: Arc<Store>,
    trust: Arc<Trust>,
}

impl InstalledTemplates {
    pub(super) fn open(data_dir: &Path, trust: Trust) -> Result<Self> {
        let store = Store::open(data_dir).context("cannot open the templates")?;
        let installed = Self { store: Arc::new(store), trust: Arc::new(trust) };
        let names: Vec<_> = installed.read().into_iter().map(|template| template.name).collect();
        for shipped in hood_images::shipped() {
            if !names.contains(&shipped.name) {
                let name = &shipped.name;
                tracing::warn!("template `{name}` is missing; build it with `hood template build {name}`");
            }
        }
        Ok(installed)
    }

    fn read(&self) -> Vec<Template> {
        match self.store.list() {
            Ok(all) => all.into_iter().map(|found| self.template(found)).collect(),
            Err(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "cannot read the templates");
                Vec::new()
            }
        }
    }
}

impl InstalledTemplates {
    /// A template whose trust cannot be made works, but for hosts that the gate opens TLS to.
    fn template(&self, found: hood_images::Template) -> Template {
        let mut template = template(found);
        match self.trust.for_template(&template.root.key, &template.root.layers) {
            Ok(trusting) => {
                template.root.key = format!("{}:{}", template.root.key, trusting.name);
                template.root.layers.push(trusting.layer);
                for (name, value) in trusting.envs {
                    template.envs.entry(name).or_insert(value);
                }
            }
            Err(error) => {
                let name = &template.name;
                tracing::warn!(%error, "cannot make the template `{name}` trust the gate's certificates");
            }
        }
        template
    }
}

#[async_trait]
impl Templates for InstalledTemplates {
    async fn find(&self, reference: &str) -> Option<Template> {
        let (installed, reference) = (self.clone(), reference.to_owned());
        let find = move || match installed.store.find(&reference) {
            Ok(Some(found)) => Some(installed.template(found)),
            Ok(None) => {
                let all = installed.store.list().unwrap_or_default();
                all.into_iter()
                    .map(|found| installed.template(found))
                    .find(|template| template.id == reference)
            }
            Err(error) => {
                tracing::debug!(%error, "no such template");
                None
            }
        };
        tokio::task::spawn_blocking(find).await.ok()?
    }

    async fn list(&self) -> Vec<Template> {
        let installed = self.clone();
        tokio::task::spawn_blocking(move || installed.read()).await.unwrap_or_default()
    }
}

fn template(found: hood_images::Template) -> Template {
    let manifest = found.manifest;
    Template {
        id: id_of(&manifest.name),
        created_at: OffsetDateTime::UNIX_EPOCH + Duration::from_millis(manifest.created_ms),
        root: RootFs {
            // A layer's key covers all layers below it; the recipe's hash covers the rest.
            key: format!(
                "{}:{}",
                manifest.layers.last().map(LayerKey::as_str).unwrap_or_default(),
                manifest.recipe
            ),
            layers: found.layers,
            nursery: manifest.nursery.map(nursery),
            nested_user_namespaces: manifest.walls.nested_user_namespaces,
        },
        origin: Origin::Empty,
        resources: Resources {
            memory: Bytes::mib(manifest.memory_mib),
            cpu: MilliCpu::cores(manifest.cpu),
            pids: PIDS,
            disk: DISK,
        },
        envs: manifest.env,
        account: hood_wire::Account { user: manifest.user, workdir: Some(manifest.workdir) },
        name: manifest.name,
    }
}

fn nursery(recipe: hood_images::Nursery) -> Nursery {
    let hood_images::Nursery { language, argv, imports, warm_up } = recipe;
    Nursery { language, argv, imports, warm_up }
}

/// Twenty lower-case letters and digits, as clients expect; the same for every build of a template.
fn id_of(name: &str) -> String {
    let digest = Sha256::digest(format!("hood template {name}"));
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

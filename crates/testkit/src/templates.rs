//! Templates without files.

use std::collections::BTreeMap;

use async_trait::async_trait;
use hood_driver_api::RootFs;
use hood_engine::ports::Templates;
use hood_engine::{Bytes, MilliCpu, Origin, Resources, Template};
use hood_wire::Account;

/// A fixed list of templates.
#[derive(Debug, Clone)]
pub struct FakeTemplates(pub Vec<Template>);

impl Default for FakeTemplates {
    /// `base` and `code-interpreter-v1`.
    fn default() -> Self {
        Self(vec![template("base"), template("code-interpreter-v1")])
    }
}

/// A template with this name, the id `t-<name>`, 512 MiB, one core, 256 processes, 1 GiB of disk.
pub fn template(name: &str) -> Template {
    Template {
        id: format!("t-{name}"),
        name: name.into(),
        created_at: time::OffsetDateTime::UNIX_EPOCH,
        root: RootFs { key: name.into(), layers: Vec::new(), nursery: None, nested_user_namespaces: false },
        origin: Origin::Empty,
        resources: Resources {
            memory: Bytes::mib(512),
            cpu: MilliCpu::cores(1),
            pids: 256,
            disk: Bytes::gib(1),
        },
        envs: BTreeMap::from([("FROM".into(), "template".into()), ("LANG".into(), "C.UTF-8".into())]),
        account: Account { user: "user".into(), workdir: None },
    }
}

#[async_trait]
impl Templates for FakeTemplates {
    async fn find(&self, reference: &str) -> Option<Template> {
        let name = reference.split_once(':').map_or(reference, |(name, _)| name);
        self.0.iter().find(|template| template.id == reference || template.name == name).cloned()
    }

    async fn list(&self) -> Vec<Template> {
        self.0.clone()
    }
}

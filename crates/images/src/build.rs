//! The loop over the steps of a recipe.

mod layer;
mod measure;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

use crate::error::BuildError;
use crate::host::Loans;
use crate::job::Job;
use crate::key::{LayerKey, hex};
use crate::progress::Progress;
use crate::recipe::{Recipe, Step};
use crate::store::{DEFAULT_TAG, Manifest, Store};
use layer::LayerBuild;

/// What a user may say about a build.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// Where Debian packages come from, instead of the mirror in this host's apt configuration.
    pub debian_mirror: Option<String>,
}

// === impl Store ===

impl Store {
    /// Builds `recipe`, making only the layers that are missing, and names the result.
    ///
    /// Builds of one store exclude one another. A build that fails or is killed leaves finished layers, which the next
    /// one uses, and temporary directories, which the next one removes.
    pub fn build(
        &self,
        recipe: &Recipe,
        options: &BuildOptions,
        progress: &dyn Progress,
    ) -> Result<Manifest, BuildError> {
        let _lock = self.lock(|| progress.waiting())?;
        self.sweep()?;
        let mut manifest = self.beginning(recipe)?;
        let loans = Loans::of_this_host();
        let of = recipe.steps.len();
        for (n, step) in recipe.steps.iter().enumerate() {
            progress.step(n + 1, of, &step.title());
            let job = Job::of(step, recipe);
            let key = LayerKey::of(manifest.layers.last(), step, &job.inputs());
            if let Step::Debian { suite, .. } = step {
                manifest.suite.clone_from(suite);
            }
            if let Some(bytes) = self.layer_bytes(&key)? {
                progress.cached();
                manifest.bytes += bytes;
            } else {
                let began = Instant::now();
                let layer = LayerBuild {
                    store: self,
                    title: &step.title(),
                    suite: &manifest.suite,
                    lower: &manifest.layers,
                    loans: &loans,
                    options,
                };
                let bytes = layer.make(&key, &job, progress)?;
                progress.layer(bytes, began.elapsed());
                manifest.bytes += bytes;
            }
            manifest.layers.push(key);
        }
        let manifest = self.name(manifest)?;
        progress.done(&manifest);
        Ok(manifest)
    }

    /// The manifest before the first step: the layers of the template beneath and the defaults of the recipe.
    fn beginning(&self, recipe: &Recipe) -> Result<Manifest, BuildError> {
        let beneath = match &recipe.from {
            Some(from) => Some(
                self.find(from)?
                    .ok_or_else(|| BuildError::NoParent { name: recipe.name.clone(), from: from.clone() })?,
            ),
            None => None,
        };
        let beneath = beneath.map(|template| template.manifest);
        let mut env = beneath.as_ref().map(|manifest| manifest.env.clone()).unwrap_or_default();
        env.extend(recipe.env.clone());
        let text = serde_json::to_vec(recipe).expect("a recipe is strings and numbers");
        Ok(Manifest {
            name: recipe.name.clone(),
            description: recipe.description.clone(),
            tags: vec![DEFAULT_TAG.to_owned()],
            recipe: hex(&Sha256::digest(text)),
            suite: beneath.as_ref().map(|manifest| manifest.suite.clone()).unwrap_or_default(),
            bytes: beneath.as_ref().map_or(0, |manifest| manifest.bytes),
            layers: beneath.map(|manifest| manifest.layers).unwrap_or_default(),
            created_ms: now_ms(),
            user: recipe.user.clone(),
            workdir: recipe.workdir.clone(),
            env,
            cpu: recipe.resources.cpu,
            memory_mib: recipe.resources.memory_mib,
            nursery: recipe.nursery.clone(),
            walls: recipe.walls,
        })
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

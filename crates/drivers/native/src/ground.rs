//! The ground that a server builds on: swept of an earlier run, with the groups, limits and layers of its mode.

use std::path::Path;

use hood_driver_api::{Check, DriverError, Mode, Wall};

use crate::ceilings;
use crate::cgroup::{self, Delegated, Life, Limits, Mounts};
use crate::checks;
use crate::driver::{Config, END_PATIENCE};
use crate::helper::step;
use crate::instance;
use crate::layer::Layers;
use crate::rootless;

/// Ends and removes what a server on `data_dir` has left on the host: processes and cgroups. Its files are the caller's
/// (but for layers without a file system of their own, which hold trees that only the driver removes with ease).
/// Does nothing while no server ever ran there.
pub fn sweep(data_dir: &Path) -> Result<(), DriverError> {
    let existing = instance::existing(data_dir).map_err(|e| step("sweep", e))?;
    let Some(instance) = existing else { return Ok(()) };
    let mounts = Mounts::read().map_err(|e| step("sweep", e))?;
    if rootless::mode() == Mode::Rootless {
        let own = Delegated::find(&mounts);
        sweep_of_user(own.as_ref(), &instance)?;
        return Layers::plain(data_dir)
            .and_then(|all| all.remove_all())
            .map_err(|e| step("sweep", e))
            .map(drop);
    }
    if let Some(v2) = &mounts.v2 {
        Life::sweep(v2, &instance, END_PATIENCE).map_err(|e| step("sweep", e))?;
    }
    let limits = cgroup::limits(&mounts, &instance).map_err(DriverError::Host)?;
    limits.remove_all().map_err(|e| step("sweep", e)).map(drop)
}

/// Without root: by group where there are groups, and by process, because the groups of an earlier run may have been
/// elsewhere. Returns how many sandboxes the groups show.
fn sweep_of_user(own: Option<&Delegated>, instance: &str) -> Result<usize, DriverError> {
    let swept = own.map_or(Ok(0), |own| Life::sweep(&own.dir, instance, END_PATIENCE));
    let helpers = rootless::end_leftovers(instance, END_PATIENCE);
    swept.and_then(|swept| helpers.map(|_| swept)).map_err(|e| step("sweep", e))
}

/// What is there once an earlier run's remains are gone, and what differs between the modes.
pub(crate) struct Ground {
    pub(crate) life: Life,
    pub(crate) limits: Box<dyn Limits>,
    pub(crate) layers: Layers,
    pub(crate) swept: usize,
    pub(crate) checks: Vec<Check>,
}

impl Ground {
    /// With the host's root.
    pub(crate) fn of_root(config: &Config, mounts: &Mounts, instance: &str) -> Result<Self, DriverError> {
        let v2 = mounts.v2.clone().ok_or_else(|| {
            DriverError::Host(
                "cgroup2 is not mounted: `mount -t cgroup2 none /sys/fs/cgroup/unified`".to_owned(),
            )
        })?;
        let swept = Life::sweep(&v2, instance, END_PATIENCE).map_err(|e| step("sweep", e))?;
        let life = Life::new(Some(&v2), instance).map_err(|e| step("cgroup", e))?;
        let limits = cgroup::limits(mounts, instance).map_err(DriverError::Host)?;
        let swept = swept.max(limits.remove_all().map_err(|e| step("sweep", e))?);
        let (layers, why_no_quota) =
            Layers::open(&config.data_dir, config.layers).map_err(|e| step("layers", e))?;
        let mut checks = checks::run(Mode::Root, &config.data_dir);
        if let Some(why) = &why_no_quota {
            checks.retain(|check| check.wall != Wall::Disk);
            checks.push(checks::no_disk_limit(why));
        }
        for advice in ceilings::raise_inotify() {
            tracing::warn!(%advice, "one sandbox can use up the file watches of all");
        }
        Ok(Self { life, limits, layers, swept, checks })
    }

    /// Without.
    pub(crate) fn of_user(config: &Config, mounts: &Mounts, instance: &str) -> Result<Self, DriverError> {
        let own = Delegated::find(mounts);
        // Before the server moves: then its group would not look its own any more.
        let checks = checks::run(Mode::Rootless, &config.data_dir);
        let swept = sweep_of_user(own.as_ref(), instance)?;
        let dir = own.as_ref().map(|own| own.dir.as_path());
        let mut life = Life::new(dir, instance).map_err(|e| step("cgroup", e))?;
        if let Some(own) = own.as_ref().filter(|own| !own.controllers.is_empty()) {
            life.make_room(&own.dir).map_err(|e| step("cgroup", e))?;
        }
        if let Err(error) = ceilings::leave_inotify_to_user() {
            tracing::warn!(%error, "sandboxes can use up the file watches of the user");
        }
        let layers = Layers::plain(&config.data_dir).map_err(|e| step("layers", e))?;
        tracing::info!("without root there is no nursery: contexts start cold");
        Ok(Self { life, limits: cgroup::limits_of_user(own.as_ref()), layers, swept, checks })
    }
}

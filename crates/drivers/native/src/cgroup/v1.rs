//! Limits through the v1 controllers.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use hood_driver_api::{Bytes, Resources, SandboxId};
use rustix::fs::{Mode, OFlags};

use super::{Limits, Meter, Mounts, TemplateGroup, files};
use crate::warden::messages::View;

/// The controllers without which a wall would be missing.
const NEEDED: [&str; 4] = ["memory", "cpu", "cpuacct", "pids"];
const PERIOD_US: u64 = 100_000;

/// In the cpu hierarchy a sandbox lives one level below its own group, in a group of the least weight there is.
///
/// Linux 6.18 computes the weight of a group anew whenever one of its processes sleeps or wakes, and at that pace it loses
/// count of what the group has run: eight pairs of processes that talk through pipes kept neighbours, the host's own
/// tasks and the kernel's workers from running for as long as they liked (8 s of the host, 137 s of a neighbour were seen;
/// `tests/hostile/test_l01_load.py`). A group whose only child weighs next to nothing has a weight that stays.
const INNER: &str = "all";
const INNER_SHARES: &str = "2";

/// Weight of all sandboxes together. Each single task of the host has 1024: the kernel's workers and whatever else runs must
/// not leave a whole box of sandboxes the part of one.
const ALL_SHARES: &str = "2048";

/// One directory for the instance in each hierarchy.
pub(super) struct V1 {
    hierarchies: Vec<(PathBuf, Vec<String>)>,
}

impl V1 {
    /// The hierarchies, or the names of missing controllers.
    pub(super) fn find(mounts: &Mounts, instance: &str) -> Result<Self, String> {
        let missing: Vec<_> = NEEDED.into_iter().filter(|c| mounts.v1_of(c).is_none()).collect();
        if !missing.is_empty() {
            return Err(format!("no cgroup controller for {}", missing.join(", ")));
        }
        let hierarchies = mounts
            .v1
            .iter()
            .filter(|(_, has)| has.iter().any(|c| NEEDED.contains(&c.as_str())))
            .map(|(at, has)| (at.join(format!("hood-{instance}")), has.clone()))
            .collect();
        Ok(Self { hierarchies })
    }

    fn dir(&self, controller: &str, id: &SandboxId) -> PathBuf {
        let found = self.hierarchies.iter().find(|(_, has)| has.iter().any(|c| c == controller));
        found.map(|(at, _)| at.join(id.as_str())).unwrap_or_default()
    }
}

impl Limits for V1 {
    fn make(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<Vec<OwnedFd>> {
        for (at, _) in &self.hierarchies {
            files::make_dir(at)?;
            files::make_dir(&at.join(id.as_str()))?;
        }
        let cpu = self.dir("cpu", id);
        if let Some(all) = cpu.parent() {
            files::write(all, "cpu.shares", ALL_SHARES)?;
        }
        let cpu = cpu.join(INNER);
        files::make_dir(&cpu)?;
        files::write(&cpu, "cpu.shares", INNER_SHARES)?;
        files::write(&cpu, "cpu.cfs_period_us", PERIOD_US.to_string())?;
        // Without swap accounting swappiness is what keeps the sandbox out of swap.
        files::write_if_there(&self.dir("memory", id), "memory.swappiness", "0")?;
        self.set(id, template, ask)?;
        files::write(&self.dir("pids", id), "pids.max", ask.pids.to_string())?;
        self.tasks(id)
    }

    fn set(&self, id: &SandboxId, _: &TemplateGroup, ask: &Resources) -> io::Result<()> {
        const MEMORY: &str = "memory.limit_in_bytes";
        let (memory, bytes) = (self.dir("memory", id), ask.memory.0.to_string());
        // That with swap may never be the lower of the two; without swap accounting it is not there.
        let both = |file| files::write_if_there(&memory, file, &bytes);
        if files::number(&memory, MEMORY)? < ask.memory.0 {
            both("memory.memsw.limit_in_bytes")?;
            files::write(&memory, MEMORY, &bytes)?;
        } else {
            files::write(&memory, MEMORY, &bytes)?;
            both("memory.memsw.limit_in_bytes")?;
        }
        // The quota, too, in the inner group: it is what runtimes inside look for in their own.
        let quota = u64::from(ask.cpu.0) * PERIOD_US / 1000;
        files::write(&self.dir("cpu", id).join(INNER), "cpu.cfs_quota_us", quota.to_string())
    }

    fn tasks(&self, id: &SandboxId) -> io::Result<Vec<OwnedFd>> {
        let open = |(at, has): &(PathBuf, Vec<String>)| {
            let group = at.join(id.as_str());
            let group = if has.iter().any(|c| c == "cpu") { group.join(INNER) } else { group };
            Ok(rustix::fs::open(group.join("tasks"), OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?)
        };
        self.hierarchies.iter().map(open).collect()
    }

    fn remove(&self, id: &SandboxId) -> io::Result<()> {
        self.hierarchies.iter().try_for_each(|(at, _)| files::remove_tree(&at.join(id.as_str())))
    }

    fn remove_all(&self) -> io::Result<usize> {
        let mut most = 0;
        for (at, _) in &self.hierarchies {
            most = most.max(files::children(at)?.len());
            files::remove_tree(at)?;
        }
        Ok(most)
    }

    fn holds_pids(&self) -> bool {
        true
    }

    fn meter(&self, id: &SandboxId, _: &TemplateGroup) -> io::Result<Option<Meter>> {
        let (memory, pids) = (self.dir("memory", id), self.dir("pids", id));
        Ok(Some(Meter {
            cpu: Duration::from_nanos(files::number(&self.dir("cpuacct", id), "cpuacct.usage")?),
            memory: Bytes(files::number(&memory, "memory.usage_in_bytes")?),
            cache: Bytes(files::field(&memory, "memory.stat", "total_cache")?),
            pids: files::number(&pids, "pids.current")? as u32,
            oom_kills: files::field(&memory, "memory.oom_control", "oom_kill")?,
            pids_refused: files::field(&pids, "pids.events", "max")?,
        }))
    }

    fn views(&self) -> Vec<View> {
        let view = |(_, has): &(PathBuf, Vec<String>)| View {
            fs: "cgroup".to_owned(),
            controllers: has.clone(),
            dir: has.join(","),
        };
        self.hierarchies.iter().map(view).collect()
    }
}

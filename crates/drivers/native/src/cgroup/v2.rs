//! Limits through the v2 controllers, in the same group that life goes through.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use hood_driver_api::{Bytes, Resources, SandboxId};

use super::{Delegated, Limits, Meter, Mounts, TemplateGroup, files};
use crate::warden::messages::View;

const NEEDED: [&str; 3] = ["memory", "cpu", "pids"];
const PERIOD_US: u64 = 100_000;

/// A group whose controllers are v2, and those that count.
pub(super) struct V2 {
    top: PathBuf,
    controllers: Vec<&'static str>,
}

impl V2 {
    /// `None` when cgroup2 is not mounted or lacks a needed controller.
    pub(super) fn find(mounts: &Mounts) -> Option<Self> {
        let mount = mounts.v2.clone()?;
        let has = std::fs::read_to_string(mount.join("cgroup.controllers")).ok()?;
        let all = NEEDED.iter().all(|c| has.split_whitespace().any(|h| h == *c));
        all.then(|| Self { top: mount, controllers: NEEDED.to_vec() })
    }

    /// Beneath the group that was handed to the user, with the controllers it has.
    pub(super) fn beneath(own: &Delegated) -> Self {
        Self { top: own.dir.clone(), controllers: own.controllers.clone() }
    }

    fn has(&self, controller: &str) -> bool {
        self.controllers.contains(&controller)
    }

    /// Controllers must be handed down level by level.
    fn hand_down(&self, template: &TemplateGroup) -> io::Result<()> {
        let Some(path) = template.path() else { return Ok(()) };
        let all = self.controllers.iter().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
        let levels = [Some(self.top.as_path()), path.parent(), Some(path)];
        for level in levels.into_iter().flatten() {
            files::write(level, "cgroup.subtree_control", &all)?;
        }
        Ok(())
    }
}

impl Limits for V2 {
    fn make(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<Vec<OwnedFd>> {
        self.hand_down(template)?;
        let Some(dir) = template.sandbox(id) else { return Ok(Vec::new()) };
        files::make_dir(&dir)?;
        if self.has("memory") {
            files::write_if_there(&dir, "memory.swap.max", "0")?;
        }
        if self.has("pids") {
            files::write(&dir, "pids.max", ask.pids.to_string())?;
        }
        self.set(id, template, ask)?;
        Ok(Vec::new())
    }

    fn set(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<()> {
        let Some(dir) = template.sandbox(id) else { return Ok(()) };
        if self.has("memory") {
            files::write(&dir, "memory.max", ask.memory.0.to_string())?;
        }
        if self.has("cpu") {
            let quota = u64::from(ask.cpu.0) * PERIOD_US / 1000;
            files::write(&dir, "cpu.max", format!("{quota} {PERIOD_US}"))?;
        }
        Ok(())
    }

    fn tasks(&self, _: &SandboxId) -> io::Result<Vec<OwnedFd>> {
        Ok(Vec::new())
    }

    fn remove(&self, _: &SandboxId) -> io::Result<()> {
        // The group is the one that `life` removes.
        Ok(())
    }

    fn remove_all(&self) -> io::Result<usize> {
        Ok(0)
    }

    fn holds_pids(&self) -> bool {
        self.has("pids")
    }

    /// What no controller counts is 0, but for CPU time, which every group has.
    fn meter(&self, id: &SandboxId, template: &TemplateGroup) -> io::Result<Option<Meter>> {
        let Some(dir) = template.sandbox(id) else { return Ok(None) };
        let cpu = Duration::from_micros(files::field(&dir, "cpu.stat", "usage_usec")?);
        let mut meter = Meter { cpu, ..Meter::default() };
        if self.has("memory") {
            meter.memory = Bytes(files::number(&dir, "memory.current")?);
            meter.cache = Bytes(files::field(&dir, "memory.stat", "file")?);
            meter.oom_kills = files::field(&dir, "memory.events", "oom_kill")?;
        }
        if self.has("pids") {
            meter.pids = files::number(&dir, "pids.current")? as u32;
            meter.pids_refused = files::field(&dir, "pids.events", "max")?;
        }
        Ok(Some(meter))
    }

    fn views(&self) -> Vec<View> {
        vec![View { fs: "cgroup2".to_owned(), controllers: Vec::new(), dir: String::new() }]
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use hood_driver_api::MilliCpu;

    use super::super::Life;
    use super::*;

    /// A directory that looks like a v2 mount, for hosts that have none.
    fn fake() -> (tempfile::TempDir, V2, TemplateGroup, SandboxId) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("cgroup.controllers"), "cpuset cpu io memory pids\n").expect("written");
        let mounts = Mounts { v2: Some(dir.path().to_owned()), v1: Vec::new() };
        let v2 = V2::find(&mounts).expect("has all controllers");
        let life = Life::new(Some(dir.path()), "test").expect("made");
        // The kernel makes a group's files with the group.
        for group in ["t0", "t0/nursery"] {
            let group = dir.path().join("hood-test").join(group);
            fs::create_dir_all(&group).expect("made");
            fs::write(group.join("cgroup.procs"), "").expect("written");
        }
        let me = rustix::process::getuid().as_raw();
        let template = life.template(0, me).expect("made");
        (dir, v2, template, SandboxId::from_random([1; 20]))
    }

    #[test]
    fn limits_are_written_in_the_units_of_v2() {
        let (_dir, v2, template, id) = fake();
        let ask = Resources { memory: Bytes::mib(512), cpu: MilliCpu(500), pids: 64, disk: Bytes::gib(1) };
        v2.make(&id, &template, &ask).expect("made");
        let dir = template.sandbox(&id).expect("groups");
        let read = |file: &str| fs::read_to_string(dir.join(file)).expect("written");
        assert_eq!(read("memory.max"), "536870912");
        assert_eq!(read("cpu.max"), "50000 100000");
        assert_eq!(read("pids.max"), "64");
    }

    #[test]
    fn a_controller_that_is_not_there_is_left_alone() {
        let (top, _, template, id) = fake();
        let own = Delegated { dir: top.path().to_owned(), controllers: vec!["memory"] };
        let v2 = V2::beneath(&own);
        let ask = Resources { memory: Bytes::mib(512), cpu: MilliCpu(500), pids: 64, disk: Bytes::gib(1) };
        v2.make(&id, &template, &ask).expect("made");
        let dir = template.sandbox(&id).expect("groups");
        assert!(dir.join("memory.max").exists() && !dir.join("cpu.max").exists() && !v2.holds_pids());
        let handed = fs::read_to_string(top.path().join("cgroup.subtree_control")).expect("written");
        assert_eq!(handed, "+memory");
    }

    #[test]
    fn counters_are_read_from_v2_files() {
        let (_dir, v2, template, id) = fake();
        let dir = template.sandbox(&id).expect("groups");
        fs::create_dir_all(&dir).expect("made");
        for (file, text) in [
            ("cpu.stat", "usage_usec 1500\nuser_usec 1\n"),
            ("memory.current", "4096\n"),
            ("memory.stat", "anon 1\nfile 2048\n"),
            ("pids.current", "3\n"),
            ("memory.events", "oom 1\noom_kill 2\n"),
            ("pids.events", "max 7\n"),
        ] {
            fs::write(dir.join(file), text).expect("written");
        }
        let meter = v2.meter(&id, &template).expect("read").expect("counted");
        assert_eq!(
            (meter.cpu, meter.memory, meter.cache),
            (Duration::from_micros(1500), Bytes(4096), Bytes(2048))
        );
        assert_eq!((meter.pids, meter.oom_kills, meter.pids_refused), (3, 2, 7));
    }

    #[test]
    fn a_missing_control_file_is_named() {
        let (_dir, v2, template, id) = fake();
        fs::create_dir_all(template.sandbox(&id).expect("groups")).expect("made");
        let error = v2.meter(&id, &template).expect_err("nothing there");
        assert!(error.to_string().contains("cpu.stat"), "{error}");
    }
}

//! Limits through the v2 controllers, in the same group that life goes through.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use hood_driver_api::{Bytes, Resources, SandboxId};

use super::{Limits, Meter, Mounts, TemplateGroup, files};
use crate::warden::messages::View;

const NEEDED: [&str; 3] = ["memory", "cpu", "pids"];
const PERIOD_US: u64 = 100_000;

/// The mount whose controllers are v2.
pub(super) struct V2 {
    mount: PathBuf,
}

impl V2 {
    /// `None` when cgroup2 is not mounted or lacks a needed controller.
    pub(super) fn find(mounts: &Mounts) -> Option<Self> {
        let mount = mounts.v2.clone()?;
        let has = std::fs::read_to_string(mount.join("cgroup.controllers")).ok()?;
        NEEDED.iter().all(|c| has.split_whitespace().any(|h| h == *c)).then_some(Self { mount })
    }

    /// Controllers must be handed down level by level.
    fn hand_down(&self, template: &TemplateGroup) -> io::Result<()> {
        let path = template.path();
        let levels = [Some(self.mount.as_path()), path.parent(), Some(path)];
        for level in levels.into_iter().flatten() {
            files::write(level, "cgroup.subtree_control", "+memory +cpu +pids")?;
        }
        Ok(())
    }
}

impl Limits for V2 {
    fn make(&self, id: &SandboxId, template: &TemplateGroup, ask: &Resources) -> io::Result<Vec<OwnedFd>> {
        self.hand_down(template)?;
        let dir = template.sandbox(id);
        files::make_dir(&dir)?;
        files::write(&dir, "memory.max", ask.memory.0.to_string())?;
        files::write_if_there(&dir, "memory.swap.max", "0")?;
        files::write(&dir, "cpu.max", format!("{} {PERIOD_US}", u64::from(ask.cpu.0) * PERIOD_US / 1000))?;
        files::write(&dir, "pids.max", ask.pids.to_string())?;
        Ok(Vec::new())
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

    fn meter(&self, id: &SandboxId, template: &TemplateGroup) -> io::Result<Meter> {
        let dir = template.sandbox(id);
        Ok(Meter {
            cpu: Duration::from_micros(files::field(&dir, "cpu.stat", "usage_usec")?),
            memory: Bytes(files::number(&dir, "memory.current")?),
            cache: Bytes(files::field(&dir, "memory.stat", "file")?),
            pids: files::number(&dir, "pids.current")? as u32,
            oom_kills: files::field(&dir, "memory.events", "oom_kill")?,
            pids_refused: files::field(&dir, "pids.events", "max")?,
        })
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
        let life = Life::new(dir.path(), "test").expect("made");
        // The kernel makes a group's files with the group.
        for group in ["t0", "t0/nursery"] {
            fs::create_dir_all(life.root().join(group)).expect("made");
            fs::write(life.root().join(group).join("cgroup.procs"), "").expect("written");
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
        let read = |file: &str| fs::read_to_string(template.sandbox(&id).join(file)).expect("written");
        assert_eq!(read("memory.max"), "536870912");
        assert_eq!(read("cpu.max"), "50000 100000");
        assert_eq!(read("pids.max"), "64");
    }

    #[test]
    fn counters_are_read_from_v2_files() {
        let (_dir, v2, template, id) = fake();
        let dir = template.sandbox(&id);
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
        let meter = v2.meter(&id, &template).expect("read");
        assert_eq!(
            (meter.cpu, meter.memory, meter.cache),
            (Duration::from_micros(1500), Bytes(4096), Bytes(2048))
        );
        assert_eq!((meter.pids, meter.oom_kills, meter.pids_refused), (3, 2, 7));
    }

    #[test]
    fn a_missing_control_file_is_named() {
        let (_dir, v2, template, id) = fake();
        fs::create_dir_all(template.sandbox(&id)).expect("made");
        let error = v2.meter(&id, &template).expect_err("nothing there");
        assert!(error.to_string().contains("cpu.stat"), "{error}");
    }
}

//! No limits: no controller was handed to the user.

use std::io;
use std::os::fd::OwnedFd;

use hood_driver_api::{Resources, SandboxId};

use super::{Limits, Meter, TemplateGroup};
use crate::warden::messages::View;

/// Does nothing.
pub(super) struct Unlimited;

impl Limits for Unlimited {
    fn make(&self, _: &SandboxId, _: &TemplateGroup, _: &Resources) -> io::Result<Vec<OwnedFd>> {
        Ok(Vec::new())
    }

    fn set(&self, _: &SandboxId, _: &TemplateGroup, _: &Resources) -> io::Result<()> {
        Ok(())
    }

    fn tasks(&self, _: &SandboxId) -> io::Result<Vec<OwnedFd>> {
        Ok(Vec::new())
    }

    fn remove(&self, _: &SandboxId) -> io::Result<()> {
        Ok(())
    }

    fn remove_all(&self) -> io::Result<usize> {
        Ok(0)
    }

    fn meter(&self, _: &SandboxId, _: &TemplateGroup) -> io::Result<Option<Meter>> {
        Ok(None)
    }

    fn holds_pids(&self) -> bool {
        false
    }

    fn views(&self) -> Vec<View> {
        Vec::new()
    }
}

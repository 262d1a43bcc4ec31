//! Live templates: one builder, one block of ids and one cgroup each.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hood_driver_api::{DriverError, RootFs};

use crate::cgroup::{Life, TemplateGroup};
use crate::helper::{Builder, Warden, step};
use crate::nursery::Cradle;
use crate::warden::messages::IdLine;

/// Ids of one sandbox: what an ordinary system has.
pub(crate) const RANGE: u32 = 65536;

/// Ids of one template: its builder's range and those of its sandboxes.
const BLOCK: u32 = RANGE * 2048;

/// Sandboxes of one template at once.
pub(crate) const MAX_SLOTS: u32 = BLOCK / RANGE - 1;

/// Templates with living sandboxes at once: blocks 1 to 30 of the 32 in the id space. Block 0 is the host's own
/// accounts, and the last one holds the reserved id -1.
pub(crate) const MAX_TEMPLATES: u32 = 30;

/// Mapped layers get one more id: on disk 65536 stands for the host's root, who makes the overlay's work files.
const HOST_ROOT_ON_DISK: u32 = RANGE;

/// A template in use.
pub(crate) struct Live {
    pub(crate) builder: Builder,
    pub(crate) group: TemplateGroup,
    pub(crate) cradle: Arc<Cradle>,
    number: u32,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    free: Vec<u32>,
    next: u32,
}

/// A sandbox's place in its template's block; given back when dropped.
pub(crate) struct Slot {
    live: Arc<Live>,
    index: u32,
}

/// The user namespace that a slot's layers are mapped with, made once per slot and kept: it costs a process.
pub(crate) struct Maps {
    pub(crate) userns: OwnedFd,
}

/// All templates in use.
#[derive(Default)]
pub(crate) struct Templates {
    live: Mutex<HashMap<String, Arc<Live>>>,
    maps: Mutex<HashMap<u32, Arc<Maps>>>,
}

impl Templates {
    /// The template's builder, started when this is its first sandbox.
    pub(crate) fn open(&self, root: &RootFs, warden: &Warden, life: &Life) -> Result<Arc<Live>, DriverError> {
        let mut all = lock(&self.live);
        if let Some(live) = all.get(&root.key) {
            return Ok(live.clone());
        }
        // A template without sandboxes gives its block to one that needs it.
        if all.len() >= MAX_TEMPLATES as usize {
            let idle = all.iter().find(|(_, live)| Arc::strong_count(live) == 1).map(|(key, _)| key.clone());
            if let Some(live) = idle.and_then(|key| all.remove(&key)) {
                live.cradle.clear();
                live.group.end_all(crate::driver::END_PATIENCE).map_err(|e| step("builder's end", e))?;
            }
        }
        let used: Vec<u32> = all.values().map(|live| live.number).collect();
        let number = (1..=MAX_TEMPLATES).find(|n| !used.contains(n));
        let number =
            number.ok_or(DriverError::Exhausted { what: "templates in use", limit: MAX_TEMPLATES.into() })?;
        let base = BLOCK * number;
        let group = life.template(number, base).map_err(|e| step("template's cgroup", e))?;
        let home = group.builder().map_err(|e| step("template's cgroup", e))?;
        let builder = warden.builder(base, BLOCK, &home)?;
        let live = Arc::new(Live { builder, group, cradle: Arc::default(), number, slots: Mutex::default() });
        all.insert(root.key.clone(), live.clone());
        Ok(live)
    }

    /// Forgets a template whose builder has failed, so that the next create starts a new one.
    pub(crate) fn forget(&self, root: &RootFs) {
        lock(&self.live).remove(&root.key);
    }

    /// Ends every builder, and with it whatever is left of its sandboxes.
    pub(crate) fn end_all(&self) {
        for (_, live) in lock(&self.live).drain() {
            live.cradle.clear();
            if let Err(error) = live.group.end_all(crate::driver::END_PATIENCE) {
                tracing::warn!(%error, "a builder did not end");
            }
        }
    }

    /// The maps of a slot.
    pub(crate) fn maps(&self, slot: &Slot, warden: &Warden) -> Result<Arc<Maps>, DriverError> {
        self.maps_from(slot.first_id_outside(), warden)
    }

    /// The maps of a template's own range, which its nursery sees the files through.
    pub(crate) fn own_maps(&self, live: &Live, warden: &Warden) -> Result<Arc<Maps>, DriverError> {
        self.maps_from(BLOCK * live.number, warden)
    }

    /// Makes the maps of the slot that comes next, unless they are there: off the path of the create that needs them.
    pub(crate) fn make_ahead(&self, live: &Live, warden: &Warden) -> Result<(), DriverError> {
        let next = lock(&live.slots).next;
        if next < MAX_SLOTS {
            self.maps_from(BLOCK * live.number + RANGE * (next + 1), warden)?;
        }
        Ok(())
    }

    fn maps_from(&self, outside: u32, warden: &Warden) -> Result<Arc<Maps>, DriverError> {
        if let Some(maps) = lock(&self.maps).get(&outside) {
            return Ok(maps.clone());
        }
        let range = IdLine { inside: 0, outside, count: RANGE };
        let host_root = IdLine { inside: HOST_ROOT_ON_DISK, outside: 0, count: 1 };
        let maps = Arc::new(Maps { userns: warden.user_namespace(vec![range, host_root])? });
        lock(&self.maps).insert(outside, maps.clone());
        Ok(maps)
    }
}

impl Live {
    /// A free slot.
    pub(crate) fn slot(self: &Arc<Self>) -> Result<Slot, DriverError> {
        let mut slots = lock(&self.slots);
        let index = match slots.free.pop() {
            Some(index) => index,
            None if slots.next < MAX_SLOTS => {
                slots.next += 1;
                slots.next - 1
            }
            None => {
                return Err(DriverError::Exhausted {
                    what: "sandboxes of one template",
                    limit: MAX_SLOTS.into(),
                });
            }
        };
        Ok(Slot { live: self.clone(), index })
    }
}

impl Slot {
    /// First id of the sandbox, counted in the template's user namespace.
    pub(crate) fn first_id(&self) -> u32 {
        RANGE * (self.index + 1)
    }

    /// First id of the sandbox on the host.
    pub(crate) fn first_id_outside(&self) -> u32 {
        BLOCK * self.live.number + self.first_id()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.live.slots).free.push(self.index);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Live templates: one builder, one block of ids and one cgroup each.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hood_driver_api::{DriverError, RootFs};

use crate::cgroup::{Life, TemplateGroup};
use crate::driver::END_PATIENCE;
use crate::helper::{Builder, Warden, step};
use crate::ids::{Ids, MAX_TEMPLATES, RANGE, SlotIds};
use crate::nursery::Cradle;
use crate::warden::messages::IdLine;

/// Mapped layers get one more id: on disk 65536 stands for the host's root, who makes the overlay's work files.
const HOST_ROOT_ON_DISK: u32 = RANGE;

/// A template in use.
pub(crate) struct Live {
    pub(crate) builder: Builder,
    pub(crate) group: TemplateGroup,
    pub(crate) cradle: Arc<Cradle>,
    number: u32,
    ids: Ids,
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

/// How the files of a template and of a writable layer get the ids of a sandbox.
#[derive(Clone)]
pub(crate) enum Owners {
    /// Mounts map them.
    Mapped(Arc<Maps>),
    /// They lie on disk as they are seen. What is made for root inside belongs to this id, as the server sees it.
    OnDisk(u32),
}

/// All templates in use.
pub(crate) struct Templates {
    ids: Ids,
    live: Mutex<HashMap<String, Arc<Live>>>,
    maps: Mutex<HashMap<u32, Arc<Maps>>>,
}

impl Templates {
    pub(crate) fn new(ids: Ids) -> Self {
        Self { ids, live: Mutex::default(), maps: Mutex::default() }
    }

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
                live.end().map_err(|e| step("builder's end", e))?;
            }
        }
        let used: Vec<u32> = all.values().map(|live| live.number).collect();
        let number = (1..=MAX_TEMPLATES).find(|n| !used.contains(n));
        let number =
            number.ok_or(DriverError::Exhausted { what: "templates in use", limit: MAX_TEMPLATES.into() })?;
        let (base, count) = self.ids.template(number);
        let group = life.template(number, base).map_err(|e| step("template's cgroup", e))?;
        let home = group.builder().map_err(|e| step("template's cgroup", e))?;
        let builder = warden.builder(base, count, home.as_ref())?;
        let (ids, cradle, slots) = (self.ids, Arc::default(), Mutex::default());
        let live = Arc::new(Live { builder, group, cradle, number, ids, slots });
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
            if let Err(error) = live.end() {
                tracing::warn!(%error, "a builder did not end");
            }
        }
    }

    /// How a slot's files get their ids.
    pub(crate) fn owners(&self, slot: &Slot, warden: &Warden) -> Result<Owners, DriverError> {
        match self.ids.root_on_disk() {
            0 => self.maps_from(slot.root_outside(), warden).map(Owners::Mapped),
            id => Ok(Owners::OnDisk(id)),
        }
    }

    /// How the files that a template's nursery sees get theirs: with the template's own range.
    pub(crate) fn own_owners(&self, live: &Live, warden: &Warden) -> Result<Owners, DriverError> {
        match self.ids.root_on_disk() {
            0 => self.maps_from(live.first_outside(), warden).map(Owners::Mapped),
            id => Ok(Owners::OnDisk(id)),
        }
    }

    /// Makes the maps of the slot that comes next, unless they are there: off the path of the create that needs them.
    pub(crate) fn make_ahead(&self, live: &Live, warden: &Warden) -> Result<(), DriverError> {
        let next = lock(&live.slots).next;
        if self.ids.root_on_disk() == 0 && next < self.ids.max_slots() {
            self.maps_from(live.first_outside() + self.ids.slot(next).root, warden)?;
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
        let most = self.ids.max_slots();
        let mut slots = lock(&self.slots);
        let index = match slots.free.pop() {
            Some(index) => index,
            None if slots.next < most => {
                slots.next += 1;
                slots.next - 1
            }
            None => {
                return Err(DriverError::Exhausted { what: "sandboxes of one template", limit: most.into() });
            }
        };
        Ok(Slot { live: self.clone(), index })
    }

    /// Ends the builder, and with it whatever is left in its pid namespace.
    fn end(&self) -> std::io::Result<()> {
        self.builder.end(END_PATIENCE)?;
        self.group.end_all(END_PATIENCE)
    }

    fn first_outside(&self) -> u32 {
        self.ids.template(self.number).0
    }
}

impl Slot {
    /// The sandbox's ids, counted in the template's user namespace.
    pub(crate) fn ids(&self) -> SlotIds {
        self.live.ids.slot(self.index)
    }

    /// Root inside, as the server sees it.
    pub(crate) fn root_outside(&self) -> u32 {
        self.live.first_outside() + self.ids().root
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

//! Which ids belong to whom: on the host, in a template's user namespace U, in a sandbox's user namespace S.
//!
//! **Root** has the whole id space. Each template gets a block of it and each sandbox a range of its own; layers lie on
//! disk with the ids of the template, and mounts map them.
//!
//! **Rootless** has what distributions give a user: 65,536 sub-ids, and mounts cannot map. So all sandboxes share one
//! range, and layers lie on disk with its ids. What still differs for each sandbox is the account that its user
//! namespace is counted for, so that one cannot use up another's processes and file watches.
//!
//! | id in O (the server's namespace) | in U | in S |
//! |---|---|---|
//! | 0, the user | – | – |
//! | 1 | 0, root of the template | – |
//! | 2 to 64,001 | 1 to 64,000 | 0 to 63,999 |
//! | 64,002 | 64,001 | 65,534, `nobody` |
//! | 64,003 and up | one for each sandbox | – |

use hood_driver_api::Mode;

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

/// Sub-ids that rootless mode needs.
pub(crate) const SUB_IDS: u32 = 65536;

/// Ids of a sandbox in rootless mode, but for [`NOBODY`].
pub(crate) const SHARED_RANGE: u32 = 64000;

/// Sandboxes of one template at once in rootless mode.
pub(crate) const SHARED_SLOTS: u32 = 1024;

/// Owner of what belongs to nobody, on every system.
pub(crate) const NOBODY: u32 = 65534;

/// What the user itself is while templates are built without root.
pub(crate) const BUILDING_USER: u32 = 65533;

/// First of the ids that user namespaces of sandboxes are counted for, in U.
const FIRST_ACCOUNT: u32 = SHARED_RANGE + 2;

/// The plan of one mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ids(Mode);

/// The ids of one sandbox, counted in U.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotIds {
    /// Root inside.
    pub(crate) root: u32,
    /// Who the user namespace is made and counted for.
    pub(crate) account: u32,
    /// The maps of S.
    pub(crate) lines: Vec<IdLine>,
}

impl Ids {
    pub(crate) fn of(mode: Mode) -> Self {
        Self(mode)
    }

    /// Sandboxes of one template at once.
    pub(crate) fn max_slots(self) -> u32 {
        match self.0 {
            Mode::Root => MAX_SLOTS,
            Mode::Rootless => SHARED_SLOTS,
        }
    }

    /// First id of template `number` as the server sees it, and how many it has.
    pub(crate) fn template(self, number: u32) -> (u32, u32) {
        match self.0 {
            Mode::Root => (BLOCK * number, BLOCK),
            Mode::Rootless => (1, SUB_IDS),
        }
    }

    /// The ids of the sandbox in slot `index` of a template.
    pub(crate) fn slot(self, index: u32) -> SlotIds {
        match self.0 {
            Mode::Root => {
                let root = RANGE * (index + 1);
                SlotIds {
                    root,
                    account: root,
                    lines: vec![IdLine { inside: 0, outside: root, count: RANGE }],
                }
            }
            Mode::Rootless => SlotIds { root: 1, account: FIRST_ACCOUNT + index, lines: shared(1) },
        }
    }

    /// Owner of the files of root inside, on disk, as the server sees it.
    pub(crate) fn root_on_disk(self) -> u32 {
        match self.0 {
            Mode::Root => 0,
            Mode::Rootless => 2,
        }
    }
}

/// The maps of a sandbox in rootless mode over ids that begin at `first`.
pub(crate) fn shared(first: u32) -> Vec<IdLine> {
    vec![
        IdLine { inside: 0, outside: first, count: SHARED_RANGE },
        IdLine { inside: NOBODY, outside: first + SHARED_RANGE, count: 1 },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sandboxes_of_root_share_an_id() {
        let ids = Ids::of(Mode::Root);
        let (first, second) = (ids.slot(0), ids.slot(1));
        assert_eq!(first.root + RANGE, second.root);
        assert_eq!(ids.slot(MAX_SLOTS - 1).root + RANGE, ids.template(1).1);
        assert!(first.root >= RANGE, "the first range is the template's own");
    }

    #[test]
    fn without_root_a_sandbox_has_neither_the_user_nor_its_templates_root() {
        let ids = Ids::of(Mode::Rootless);
        let (first, second, last) = (ids.slot(0), ids.slot(1), ids.slot(SHARED_SLOTS - 1));
        assert_eq!(first.lines, second.lines);
        assert_ne!(first.account, second.account);
        let in_s = |id| first.lines.iter().any(|l| (l.outside..l.outside + l.count).contains(&id));
        assert!(in_s(first.root) && !in_s(0));
        assert!((first.account..=last.account).all(|id| !in_s(id) && id < ids.template(1).1));
        // U's own root is the user's first sub-id, and what root inside owns on disk is one further.
        assert_eq!(ids.template(1).0 + first.root, ids.root_on_disk());
    }
}

//! Accounts of the sandbox: its own `/etc/passwd` and `/etc/group`, read here, inside, and nowhere else.

use std::collections::BTreeSet;
use std::io::{self, Read};

use crate::limits::MAX_ACCOUNTS;
use crate::reach;
use crate::sys::spawn::Identity;

/// Groups of one process (`NGROUPS_MAX`); with more the kernel would start nothing. Those beyond it are left out.
const MAX_GROUPS: usize = 65_536;

/// One line of `/etc/passwd`, with the groups that name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) home: String,
    pub(crate) shell: String,
    pub(crate) identity: Identity,
}

/// The account of that name, or `None`.
pub(crate) fn by_name(name: &str) -> io::Result<Option<Account>> {
    let passwd = read("/etc/passwd")?;
    Ok(find(&passwd, name).map(|mut account| {
        let groups = read("/etc/group").unwrap_or_default();
        account.identity.groups = groups_of(&groups, name, account.identity.gid);
        account
    }))
}

/// The name of a user id, or its number.
pub(crate) fn user_name(uid: u32) -> String {
    name_of("/etc/passwd", uid)
}

/// The name of a group id, or its number.
pub(crate) fn group_name(gid: u32) -> String {
    name_of("/etc/group", gid)
}

fn name_of(file: &str, id: u32) -> String {
    let id = id.to_string();
    let text = read(file).unwrap_or_default();
    text.lines()
        .find_map(|line| {
            let mut fields = line.split(':');
            let name = fields.next()?;
            (fields.nth(1)? == id).then(|| name.to_owned())
        })
        .unwrap_or(id)
}

pub(crate) fn find(passwd: &str, name: &str) -> Option<Account> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [user, _, uid, gid, _, home, shell, ..] = fields.as_slice() else { return None };
        let (uid, gid) = (id(uid)?, id(gid)?);
        (*user == name && !name.is_empty()).then(|| Account {
            name: (*user).to_owned(),
            home: if home.is_empty() { "/".to_owned() } else { (*home).to_owned() },
            shell: if shell.is_empty() { "/bin/sh".to_owned() } else { (*shell).to_owned() },
            identity: Identity { uid, gid, groups: vec![gid] },
        })
    })
}

pub(crate) fn groups_of(groups: &str, name: &str, primary: u32) -> Vec<u32> {
    let mut ids = vec![primary];
    let mut seen = BTreeSet::from([primary]);
    for line in groups.lines() {
        let mut fields = line.split(':').skip(2);
        let (Some(gid), Some(members)) = (fields.next().and_then(id), fields.next()) else {
            continue;
        };
        if ids.len() < MAX_GROUPS && members.split(',').any(|member| member == name) && seen.insert(gid) {
            ids.push(gid);
        }
    }
    ids
}

/// A user or group id. To the kernel the highest number says "leave it as it is", and what is left is the guest's own.
fn id(text: &str) -> Option<u32> {
    text.parse().ok().filter(|id| *id != u32::MAX)
}

fn read(path: &str) -> io::Result<String> {
    let mut text = Vec::new();
    reach::regular(path)?.take(MAX_ACCOUNTS).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\nbroken\nuser:x:1000:1000::/home/user:/bin/bash\n";

    #[test]
    fn an_account_has_its_groups_once() {
        let user = find(PASSWD, "user").expect("is there");
        assert_eq!(user.home, "/home/user");
        let groups = "sudo:x:27:user,other\nuser:x:1000:user\nx:y\nagain:x:27:user\n";
        assert_eq!(groups_of(groups, "user", 1000), [1000, 27]);
    }

    #[test]
    fn nobody_gets_the_guests_own_ids() {
        assert_eq!(find("a:x:4294967295:1000::/:/bin/sh\n", "a"), None);
        assert_eq!(find("a:x:1000:4294967295::/:/bin/sh\n", "a"), None);
        assert_eq!(groups_of("g:x:4294967295:a\n", "a", 1), [1]);
    }

    #[test]
    fn a_process_gets_no_more_groups_than_the_kernel_takes() {
        let groups = (0..70_000).fold(String::new(), |lines, gid| lines + &format!("g:x:{gid}:a\n"));
        assert_eq!(groups_of(&groups, "a", 0).len(), MAX_GROUPS);
    }

    #[test]
    fn nobody_is_found_by_an_empty_or_foreign_name() {
        assert_eq!(find(PASSWD, ""), None);
        assert_eq!(find(PASSWD, "broken"), None);
    }
}

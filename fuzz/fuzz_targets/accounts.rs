//! `/etc/passwd` and `/etc/group`, which root inside may write: a name, then the two files parted by a NUL.
#![no_main]

use std::collections::BTreeSet;

use hood_fuzz::lines;
use hood_guest::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some(([name], files)) = lines(data) else { return };
    let (passwd, groups) = files.split_once('\0').unwrap_or((files, ""));
    let Some(account) = fuzz::account(passwd, groups, name) else { return };
    assert!(account.name == name && !name.is_empty());
    assert!(!account.home.is_empty() && !account.shell.is_empty());
    assert!(
        account.uid != u32::MAX && account.gid != u32::MAX,
        "to the kernel these mean: leave it as it is"
    );
    let distinct: BTreeSet<_> = account.groups.iter().collect();
    assert_eq!(distinct.len(), account.groups.len(), "each group once");
    assert!(account.groups.contains(&account.gid) && !distinct.contains(&u32::MAX));
});

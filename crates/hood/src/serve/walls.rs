//! Which missing walls a server may start without: those that its owner has named, and never a needed one.

use hood_driver_api::{Check, Mode, Need, Standing, Wall};

use crate::exit::Hinted;

/// What a server does about the missing walls that it could do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Without {
    named: Vec<Wall>,
    /// Starts without a disk limit, named or not, and says so.
    disk_too: bool,
    /// The command line, for a hint that can be pasted.
    arguments: Vec<String>,
}

impl Without {
    /// A server's: those that were named.
    pub(crate) fn these(named: Vec<Wall>) -> Self {
        Self { named, disk_too: false, arguments: std::env::args().collect() }
    }

    /// Of a command that serves itself for a moment: a disk is not filled in that time without somebody seeing it.
    pub(crate) fn these_and_disk(named: Vec<Wall>) -> Self {
        Self { disk_too: true, ..Self::these(named) }
    }

    fn allows(&self, wall: Wall) -> bool {
        self.named.contains(&wall) || self.disk_too && wall == Wall::Disk
    }
}

/// The walls that the server starts without; or why it does not start.
pub(crate) fn verdict(mode: Mode, checks: &[Check], without: &Without) -> Result<Vec<Check>, Hinted> {
    if let Some(wall) = without.named.iter().find(|wall| wall.need(mode) == Need::Always) {
        let message = format!("no sandbox is made without `{wall}`, where the server is {mode}");
        return Err(Hinted::new(message, format!("leave `{wall}` out of `--without`")));
    }
    let is_missing = |check: &&Check| check.standing == Standing::Missing;
    let missing: Vec<_> = checks.iter().filter(is_missing).collect();
    if let Some(needed) = missing.iter().find(|check| check.wall.need(mode) == Need::Always) {
        return Err(refusal(needed, "no sandbox is made without this wall"));
    }
    let missing: Vec<_> = missing.into_iter().filter(|check| check.wall.need(mode) != Need::Never).collect();
    let unnamed: Vec<_> = missing.iter().filter(|check| !without.allows(check.wall)).collect();
    let walls: Vec<_> = missing.iter().map(|check| check.wall).collect();
    let way = command_line(&without.arguments, &walls);
    match unnamed.as_slice() {
        [] => Ok(missing.into_iter().cloned().collect()),
        [one] => Err(refusal(one, &format!("`{way}` does without"))),
        several => {
            let each: Vec<_> = several.iter().map(|c| format!("`{}` ({})", c.wall, c.found)).collect();
            let message = format!("{} walls are missing: {}", several.len(), each.join(", "));
            Err(Hinted::new(message, format!("`{way}` does without; `hood doctor` says what each needs")))
        }
    }
}

/// The same command with all missing walls named.
fn command_line(arguments: &[String], walls: &[Wall]) -> String {
    let names: Vec<_> = walls.iter().map(|wall| wall.name()).collect();
    let option = format!("--without {}", names.join(","));
    let mut words = vec!["hood".to_owned()];
    let (mut placed, mut is_old) = (false, false);
    for argument in arguments.iter().skip(1) {
        let is_option = argument == "--without";
        if !std::mem::replace(&mut is_old, is_option) && !is_option && !argument.starts_with("--without=") {
            words.push(quoted(argument));
        }
        // Right behind the command's name: a program's own arguments may follow later.
        if !placed && ["serve", "run", "ask"].contains(&argument.as_str()) {
            words.push(option.clone());
            placed = true;
        }
    }
    words.join(" ")
}

/// As a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn refusal(check: &Check, way: &str) -> Hinted {
    let hint = match &check.advice {
        Some(advice) => format!("{advice}; {way}"),
        None => way.to_owned(),
    };
    Hinted::new(format!("the wall `{}` is missing: {}", check.wall, check.found), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(wall: Wall, standing: Standing) -> Check {
        Check { wall, standing, found: "what was found".to_owned(), advice: Some("what to do".to_owned()) }
    }

    fn told(named: &[Wall], disk_too: bool) -> Without {
        let arguments = ["/usr/bin/hood", "serve", "--without=disk", "--data-dir", "/a b"];
        Without { named: named.to_vec(), disk_too, arguments: arguments.map(str::to_owned).to_vec() }
    }

    fn refused(mode: Mode, checks: &[Check], without: &Without) -> String {
        let refused = verdict(mode, checks, without).expect_err("a refusal");
        format!("{refused} / {}", refused.hint())
    }

    #[test]
    fn a_missing_disk_limit_stops_the_start_unless_it_is_named() {
        let checks = [check(Wall::Memory, Standing::Full), check(Wall::Disk, Standing::Missing)];
        let expected = "the wall `disk` is missing: what was found / what to do; `hood serve --without disk --data-dir '/a b'` does without";
        assert_eq!(refused(Mode::Root, &checks, &told(&[], false)), expected);
        for told in [told(&[Wall::Disk], false), told(&[], true)] {
            assert_eq!(verdict(Mode::Root, &checks, &told).expect("a start"), [checks[1].clone()]);
        }
    }

    #[test]
    fn without_root_every_missing_wall_must_be_named() {
        let checks = [Wall::Memory, Wall::Disk, Wall::Idmap].map(|wall| check(wall, Standing::Missing));
        let said = refused(Mode::Rootless, &checks, &told(&[Wall::Disk], false));
        assert!(said.starts_with("2 walls are missing: `memory` (what was found), `idmap` ("), "{said}");
        assert!(said.contains("`hood serve --without memory,disk,idmap --data-dir '/a b'`"), "{said}");
        let all = told(&[Wall::Disk, Wall::Memory, Wall::Idmap], false);
        assert_eq!(verdict(Mode::Rootless, &checks, &all).expect("a start").len(), 3);
        let said = refused(Mode::Root, &checks, &all);
        assert!(said.starts_with("no sandbox is made without `memory`, where the server is root"), "{said}");
    }

    #[test]
    fn a_needed_wall_cannot_be_done_without() {
        for mode in Mode::ALL {
            for wall in Wall::ALL.into_iter().filter(|wall| wall.need(mode) == Need::Always) {
                let checks = [check(wall, Standing::Missing)];
                let said = refused(mode, &checks, &told(&[], true));
                assert!(said.contains(&format!("the wall `{wall}` is missing")), "{said}");
                assert!(said.ends_with("no sandbox is made without this wall"), "{said}");
            }
        }
    }

    #[test]
    fn advice_and_half_walls_stop_no_start() {
        let checks = [check(Wall::HostSettings, Standing::Missing), check(Wall::Disk, Standing::Partial)];
        assert_eq!(verdict(Mode::Root, &checks, &told(&[], false)).expect("a start"), []);
    }
}

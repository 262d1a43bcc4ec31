//! Which missing walls a server may start without: those that its owner has named, and never a needed one.

use hood_driver_api::{Check, Need, Standing, Wall};

use crate::exit::Hinted;

/// What a server does about a missing wall that it could do without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Without {
    /// Starts where the wall has been named.
    These(Vec<Wall>),
    /// Starts, and says so: a command that serves itself for a moment.
    Any,
}

/// The walls that the server starts without; or why it does not start.
pub(crate) fn verdict(checks: &[Check], without: &Without) -> Result<Vec<Check>, Hinted> {
    let mut missing = Vec::new();
    for check in checks.iter().filter(|check| check.standing == Standing::Missing) {
        let wall = check.wall;
        let allowed = match (wall.need(), without) {
            (Need::Always, _) => return Err(refusal(check, "no sandbox is made without this wall")),
            (Need::Never, _) => continue,
            (Need::UnlessToldOtherwise, Without::Any) => true,
            (Need::UnlessToldOtherwise, Without::These(named)) => named.contains(&wall),
        };
        if !allowed {
            return Err(refusal(check, &format!("`hood serve --without {wall}` does without")));
        }
        missing.push(check.clone());
    }
    Ok(missing)
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

    fn refused(checks: &[Check], without: &Without) -> String {
        let refused = verdict(checks, without).expect_err("a refusal");
        format!("{refused} / {}", refused.hint())
    }

    #[test]
    fn a_missing_disk_limit_stops_the_start_unless_it_is_named() {
        let checks = [check(Wall::Memory, Standing::Full), check(Wall::Disk, Standing::Missing)];
        let expected = "the wall `disk` is missing: what was found / what to do; `hood serve --without disk` does without";
        assert_eq!(refused(&checks, &Without::These(Vec::new())), expected);
        for told in [Without::These(vec![Wall::Disk]), Without::Any] {
            assert_eq!(verdict(&checks, &told).expect("a start"), [checks[1].clone()]);
        }
    }

    #[test]
    fn a_needed_wall_cannot_be_done_without() {
        for wall in Wall::ALL.into_iter().filter(|wall| wall.need() == Need::Always) {
            let checks = [check(wall, Standing::Missing)];
            for told in [Without::These(vec![wall]), Without::Any] {
                let said = refused(&checks, &told);
                assert!(said.contains(&format!("the wall `{wall}` is missing")), "{said}");
                assert!(said.ends_with("no sandbox is made without this wall"), "{said}");
            }
        }
    }

    #[test]
    fn advice_and_half_walls_stop_no_start() {
        let checks = [check(Wall::HostSettings, Standing::Missing), check(Wall::Disk, Standing::Partial)];
        assert_eq!(verdict(&checks, &Without::These(Vec::new())).expect("a start"), []);
    }
}

//! Values with units.

use std::str::FromStr;
use std::time::Duration;

use hood_driver_api::{Mode, Need, Wall};

/// An amount of memory or disk, in MiB on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory {
    pub(crate) mib: u64,
}

impl FromStr for Memory {
    type Err = String;

    /// `512M`, `2G`, `1GiB`; a bare number is MiB. All units are powers of 1,024.
    fn from_str(given: &str) -> Result<Self, String> {
        let wrong = || format!("`{given}` is not a size: write it like 512M or 2G");
        let digits = given.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = given.split_at(digits);
        let factor = match unit.to_ascii_lowercase().as_str() {
            "" | "m" | "mb" | "mib" => 1,
            "g" | "gb" | "gib" => 1024,
            _ => return Err(wrong()),
        };
        let number: u64 = number.parse().map_err(|_| wrong())?;
        let mib = number.checked_mul(factor).filter(|mib| *mib > 0).ok_or_else(wrong)?;
        Ok(Self { mib })
    }
}

/// `30`, `30s`, `5m`, `2h`; at least a second.
pub(crate) fn duration(given: &str) -> Result<Duration, String> {
    let wrong = || format!("`{given}` is not a time of at least one second: write it like 30, 90s, 5m or 2h");
    let digits = given.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = given.split_at(digits);
    let factor = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = number.checked_mul(factor).filter(|seconds| *seconds > 0).ok_or_else(wrong)?;
    Ok(Duration::from_secs(seconds))
}

/// `NAME=VALUE`.
pub(crate) fn pair(given: &str) -> Result<(String, String), String> {
    match given.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{given}` is not of the form NAME=VALUE")),
    }
}

/// A wall that a server can do without, with root or without. Which it is shows when it starts.
pub(crate) fn spared_wall(name: &str) -> Result<Wall, String> {
    let wall: Wall = name.parse().map_err(|error| format!("{error}"))?;
    let needs = Mode::ALL.map(|mode| wall.need(mode));
    if needs.contains(&Need::UnlessToldOtherwise) {
        return Ok(wall);
    }
    Err(match needs[0] {
        Need::Never => format!("`{wall}` is advice, which stops no start"),
        _ => format!("no sandbox is made without `{wall}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_walls_can_be_spared() {
        assert_eq!(spared_wall("disk"), Ok(Wall::Disk));
        assert_eq!(spared_wall("memory"), Ok(Wall::Memory));
        assert!(spared_wall("seccomp").unwrap_err().contains("no sandbox is made without"));
        assert!(spared_wall("host_settings").unwrap_err().contains("advice"));
        assert!(spared_wall("roof").unwrap_err().contains("no wall"));
    }

    #[test]
    fn sizes_have_units() {
        let mib = |text: &str| text.parse::<Memory>().map(|memory| memory.mib);
        assert_eq!(["512", "512M", "512MiB", "2g"].map(|text| mib(text).unwrap()), [512, 512, 512, 2048]);
        for bad in
            ["", "M", "0M", "1.5G", "-1G", "5T", "99999999999999999999G", "18446744073709551615G", "1é"]
        {
            assert!(mib(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_units() {
        let seconds = |text| duration(text).map(|time| time.as_secs());
        assert_eq!(["30", "90s", "5m", "2h"].map(|text| seconds(text).unwrap()), [30, 90, 300, 7200]);
        for bad in ["", "s", "0", "1.5", "-1", "5d", "99999999999999999999", "18446744073709551615h"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_value_may_hold_anything() {
        assert_eq!(pair("A=b=c").unwrap(), ("A".to_owned(), "b=c".to_owned()));
        assert!(pair("=x").is_err() && pair("A").is_err());
    }
}

//! `hood doctor`: what this host can and cannot do, with root and without, and what to do about it.

use std::path::Path;

use anyhow::Result;
use hood_driver_api::{Check, Mode, Need, Standing};
use hood_images::{Store, shipped};
use serde::Serialize;

use super::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, Table, escape};

/// Free space of the data directory below which a build of the templates gets into trouble.
const ROOM: u64 = 4 << 30;

/// One line of the table: of the mode in which this account serves, beside the other.
#[derive(Debug, Serialize)]
struct Finding {
    wall: String,
    standing: Standing,
    found: String,
    advice: Option<String>,
    /// Without it no server starts, unless it is told to.
    needed: bool,
    /// How a wall stands with root and without. The rest is the same for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    modes: Option<Modes>,
    /// The name by which a server starts without it, where it can.
    #[serde(skip)]
    spared_as: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Modes {
    root: Standing,
    rootless: Standing,
}

pub(crate) fn run(context: &Context) -> Result<Exit> {
    let mode = hood_driver_native::mode();
    let mut findings = walls(mode, context.data_dir.path());
    findings.extend([room(context.data_dir.path()), tool("mmdebstrap", "mmdebstrap")]);
    findings.extend(templates(context));
    if context.json {
        context.printer.json(&findings)?;
    } else {
        print(context, mode, &findings)?;
    }
    let is_bad = |finding: &Finding| finding.needed && finding.standing == Standing::Missing;
    Ok(if findings.iter().any(is_bad) { Exit::Refused } else { Exit::Done })
}

/// Those of `mode`, each with how it stands in the other.
fn walls(mode: Mode, data_dir: &Path) -> Vec<Finding> {
    let [root, rootless] = Mode::ALL.map(|mode| hood_driver_native::checks(mode, data_dir));
    let of = |checks: &[Check], wall| {
        checks.iter().find(|check| check.wall == wall).map_or(Standing::Missing, |check| check.standing)
    };
    let mine = if mode == Mode::Root { &root } else { &rootless };
    let finding = |check: &Check| {
        let modes = Modes { root: of(&root, check.wall), rootless: of(&rootless, check.wall) };
        Finding::of_wall(mode, check.clone(), modes)
    };
    mine.iter().map(finding).collect()
}

fn print(context: &Context, mode: Mode, findings: &[Finding]) -> Result<()> {
    let printer = context.printer;
    let account = match mode {
        Mode::Root => "This account serves as root. What is found and advised is for that.",
        Mode::Rootless => "This account serves without root. What is found and advised is for that.",
    };
    printer.line(account)?;
    printer.line("")?;
    let mut walls = Table::new(&["WALL", "ROOT", "ROOTLESS", "FOUND"]);
    let mut rest = Table::new(&["ELSE", "STANDING", "FOUND"]);
    for finding in findings {
        let (name, found) = (finding.wall.clone(), escape(&finding.found).into_owned());
        match finding.modes {
            Some(modes) => walls.row([name, modes.root.to_string(), modes.rootless.to_string(), found]),
            None => rest.row([name, finding.standing.to_string(), found]),
        }
    }
    walls.print(printer, |column, text| colour(text).filter(|_| column == 1 || column == 2))?;
    printer.line("")?;
    rest.print(printer, |column, text| colour(text).filter(|_| column == 1))?;
    advise(context, findings)?;
    let spared: Vec<_> = findings.iter().filter_map(|finding| finding.spared_as).collect();
    if !spared.is_empty() {
        printer.line("")?;
        let way = printer.paint(Paint::Bold, &format!("hood serve --without {}", spared.join(",")));
        printer.line(&format!("Starts in spite of what is missing:  {way}"))?;
    }
    Ok(())
}

fn colour(standing: &str) -> Option<Paint> {
    match standing {
        "full" => Some(Paint::Green),
        "partial" => Some(Paint::Yellow),
        "missing" => Some(Paint::Red),
        _ => None,
    }
}

/// What to do, said once for all walls that it is for.
fn advise(context: &Context, findings: &[Finding]) -> Result<()> {
    let printer = context.printer;
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for finding in findings {
        let Some(advice) = finding.advice.as_deref() else { continue };
        match all.iter_mut().find(|(said, _)| *said == advice) {
            Some((_, walls)) => walls.push(&finding.wall),
            None => all.push((advice, vec![&finding.wall])),
        }
    }
    if !all.is_empty() {
        printer.line("")?;
        printer.line(&printer.paint(Paint::Bold, "WHAT TO DO"))?;
    }
    for (advice, walls) in all {
        printer.line(&format!("{}: {}", walls.join(", "), escape(advice)))?;
    }
    Ok(())
}

impl Finding {
    fn of_wall(mode: Mode, check: Check, modes: Modes) -> Self {
        let Check { wall, standing, found, advice } = check;
        let need = wall.need(mode);
        let can_be_spared = standing == Standing::Missing && need == Need::UnlessToldOtherwise;
        Self {
            wall: wall.name().replace('_', " "),
            standing,
            found,
            advice,
            needed: need != Need::Never,
            modes: Some(modes),
            spared_as: can_be_spared.then(|| wall.name()),
        }
    }

    fn wish(wall: impl Into<String>, standing: Standing, found: String, advice: Option<String>) -> Self {
        Self { wall: wall.into(), standing, found, advice, needed: false, modes: None, spared_as: None }
    }
}

/// Of the file system that the data directory lies on, or will.
fn room(data_dir: &Path) -> Finding {
    let there = data_dir.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    let at = data_dir.display();
    match rustix::fs::statvfs(there) {
        Ok(found) => {
            let free = found.f_bavail.saturating_mul(found.f_frsize);
            let text = format!("{:.1} GiB free for {at}", free as f64 / f64::from(1 << 30));
            if free >= ROOM {
                Finding::wish("room", Standing::Full, text, None)
            } else {
                let advice =
                    format!("free some, or choose another `--data-dir`: builds want {} GiB", ROOM >> 30);
                Finding::wish("room", Standing::Partial, text, Some(advice))
            }
        }
        Err(error) => Finding::wish("room", Standing::Partial, format!("cannot look at {at}: {error}"), None),
    }
}

/// Needed to build templates, not to run sandboxes.
fn tool(name: &str, package: &str) -> Finding {
    // `sudo` has the latter in its path, and a user may not.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/sbin".into()]);
    if let Some(file) = dirs.map(|dir| dir.join(name)).find(|file| file.exists()) {
        return Finding::wish(name, Standing::Full, file.display().to_string(), None);
    }
    let advice = format!("apt-get install {package}, to build templates");
    Finding::wish(name, Standing::Missing, "not installed".to_owned(), Some(advice))
}

fn templates(context: &Context) -> Vec<Finding> {
    let dir = context.data_dir.path();
    let finding = |name: String| {
        let wall = format!("template {name}");
        if !context.data_dir.is_ours() {
            let advice = Some("ask again as the owner of the data directory".to_owned());
            return Finding::wish(wall, Standing::Partial, "only its owner can look".to_owned(), advice);
        }
        // Looking must not make the directory.
        let found =
            if dir.exists() { Store::open(dir).and_then(|store| store.find(&name)) } else { Ok(None) };
        let build = Some(format!("hood template build {name}"));
        match found {
            Ok(Some(template)) => {
                let text = format!("built, {} MiB", template.manifest.bytes >> 20);
                Finding::wish(wall, Standing::Full, text, None)
            }
            Ok(None) => Finding::wish(wall, Standing::Missing, "not built".to_owned(), build),
            Err(error) => Finding::wish(wall, Standing::Missing, error.to_string(), build),
        }
    };
    shipped().into_iter().map(|recipe| finding(recipe.name)).collect()
}

//! `hood doctor`: what this host can and cannot do, and what to do about it.

use std::path::Path;

use anyhow::Result;
use hood_driver_api::{Check, Need, Standing};
use hood_images::{Store, shipped};
use serde::Serialize;

use super::Context;
use crate::exit::Exit;
use crate::terminal::{Paint, Table, escape};

/// Free space of the data directory below which a build of the templates gets into trouble.
const ROOM: u64 = 4 << 30;

/// One line of the table.
#[derive(Debug, Serialize)]
struct Finding {
    wall: String,
    standing: Standing,
    found: String,
    advice: Option<String>,
    /// Without it no server starts, unless it is told to.
    needed: bool,
}

pub(crate) fn run(context: &Context) -> Result<Exit> {
    let walls = hood_driver_native::checks(context.data_dir.path());
    let mut findings: Vec<Finding> = walls.into_iter().map(Finding::of_wall).collect();
    findings.extend([room(context.data_dir.path()), tool("mmdebstrap", "mmdebstrap")]);
    findings.extend(templates(context));
    if context.json {
        context.printer.json(&findings)?;
    } else {
        print(context, &findings)?;
    }
    let is_bad = |finding: &Finding| finding.needed && finding.standing == Standing::Missing;
    Ok(if findings.iter().any(is_bad) { Exit::Refused } else { Exit::Done })
}

fn print(context: &Context, findings: &[Finding]) -> Result<()> {
    let mut table = Table::new(&["WALL", "STANDING", "FOUND", "ADVICE"]);
    for finding in findings {
        table.row([
            finding.wall.clone(),
            finding.standing.to_string(),
            escape(&finding.found).into_owned(),
            finding.advice.as_deref().map(escape).unwrap_or_default().into_owned(),
        ]);
    }
    table.print(context.printer, |column, text| match text {
        _ if column != 1 => None,
        "full" => Some(Paint::Green),
        "partial" => Some(Paint::Yellow),
        _ => Some(Paint::Red),
    })
}

impl Finding {
    fn of_wall(check: Check) -> Self {
        let Check { wall, standing, found, mut advice } = check;
        if standing == Standing::Missing && wall.need() == Need::UnlessToldOtherwise {
            let way = format!("`hood serve --without {wall}` does without");
            advice = Some(advice.map_or(way.clone(), |advice| format!("{advice}; {way}")));
        }
        let needed = wall.need() != Need::Never;
        Self { wall: wall.name().replace('_', " "), standing, found, advice, needed }
    }

    fn wish(wall: impl Into<String>, standing: Standing, found: String, advice: Option<String>) -> Self {
        Self { wall: wall.into(), standing, found, advice, needed: false }
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
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.exists());
    if let Some(file) = found {
        return Finding::wish(name, Standing::Full, file.display().to_string(), None);
    }
    let advice = format!("apt-get install {package}, to build templates");
    Finding::wish(name, Standing::Missing, "not installed".to_owned(), Some(advice))
}

fn templates(context: &Context) -> Vec<Finding> {
    let dir = context.data_dir.path();
    let is_root = rustix::process::geteuid().is_root();
    let finding = |name: String| {
        let wall = format!("template {name}");
        if !is_root {
            let advice = Some("ask again as root".to_owned());
            return Finding::wish(wall, Standing::Partial, "only root can look".to_owned(), advice);
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

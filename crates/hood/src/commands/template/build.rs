//! `hood template build`.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use hood_images::{BuildOptions, Progress, Recipe, shipped};

use super::progress::{Drawn, Plain};
use super::store;
use crate::cli::BuildArguments;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};

/// Stands for all recipes that `hood` carries.
const ALL: &str = "all";

pub(crate) fn run(context: &Context, arguments: BuildArguments) -> Result<Exit> {
    let recipes = match read(Path::new(&arguments.name))? {
        Some(recipe) => vec![recipe],
        None => wanted(shipped(), &arguments.name)?,
    };
    let store = store(context)?;
    let options = BuildOptions { debian_mirror: arguments.debian_mirror };
    let progress: Box<dyn Progress> = if context.printer.may_draw() {
        Box::new(Drawn::new(context.printer))
    } else {
        Box::new(Plain(context.printer))
    };
    let mut built = Vec::new();
    for recipe in &recipes {
        context.printer.note(&format!("building template `{}`", recipe.name));
        built.push(store.build(recipe, &options, &*progress)?);
    }
    if context.json {
        context.printer.json(&built)?;
    } else {
        for manifest in &built {
            context.printer.line(&manifest.name)?;
        }
    }
    Ok(Exit::Done)
}

/// The recipe in a file, where the argument is the path of one. What it stands on must be built already.
fn read(path: &Path) -> Result<Option<Recipe>> {
    if path.extension().is_none_or(|extension| extension != "toml") {
        return Ok(None);
    }
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(Recipe::parse(&text).with_context(|| format!("{} is no recipe", path.display()))?))
}

/// The recipe of this name after those that it stands on. Shipped recipes come in that order.
fn wanted(shipped: Vec<Recipe>, name: &str) -> Result<Vec<Recipe>, Hinted> {
    if name == ALL {
        return Ok(shipped);
    }
    let mut needed = vec![name.to_owned()];
    for recipe in shipped.iter().rev() {
        if needed.contains(&recipe.name) {
            needed.extend(recipe.from.clone());
        }
    }
    let names: Vec<_> = shipped.iter().map(|recipe| format!("`{}`", recipe.name)).collect();
    let recipes: Vec<_> = shipped.into_iter().filter(|recipe| needed.contains(&recipe.name)).collect();
    if recipes.iter().any(|recipe| recipe.name == name) {
        return Ok(recipes);
    }
    let hint = format!("`hood` carries {}; `all` builds every one", names.join(" and "));
    Err(Hinted::new(format!("there is no recipe `{name}`"), hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expected: &[&str]) {
        let found =
            wanted(shipped(), name).map(|all| all.into_iter().map(|recipe| recipe.name).collect::<Vec<_>>());
        assert_eq!(
            found.ok(),
            (!expected.is_empty()).then(|| expected.iter().map(|&n| n.to_owned()).collect())
        );
    }

    #[test]
    fn only_a_path_that_ends_in_toml_is_read() {
        assert!(read(Path::new("base")).expect("a name").is_none());
        let error = read(Path::new("/nowhere/mine.toml")).expect_err("no such file");
        assert!(format!("{error:#}").contains("/nowhere/mine.toml"), "{error:#}");
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("mine.toml");
        fs::write(&path, "name = 1").expect("written");
        assert!(format!("{:#}", read(&path).expect_err("no recipe")).contains("is no recipe"));
    }

    #[test]
    fn what_a_template_stands_on_is_built_before_it() {
        check("base", &["base"]);
        check("code-interpreter-v1", &["base", "code-interpreter-v1"]);
        check("all", &["base", "code-interpreter-v1"]);
        check("nothing", &[]);
    }
}

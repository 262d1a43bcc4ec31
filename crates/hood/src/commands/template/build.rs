//! `hood template build`.

use anyhow::Result;
use hood_images::{BuildOptions, Progress, Recipe, shipped};

use super::progress::{Drawn, Plain};
use super::store;
use crate::cli::BuildArguments;
use crate::commands::Context;
use crate::exit::{Exit, Hinted};

/// Stands for all recipes that `hood` carries.
const ALL: &str = "all";

pub(crate) fn run(context: &Context, arguments: BuildArguments) -> Result<Exit> {
    let recipes = wanted(shipped(), &arguments.name)?;
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
    fn what_a_template_stands_on_is_built_before_it() {
        check("base", &["base"]);
        check("code-interpreter-v1", &["base", "code-interpreter-v1"]);
        check("all", &["base", "code-interpreter-v1"]);
        check("nothing", &[]);
    }
}

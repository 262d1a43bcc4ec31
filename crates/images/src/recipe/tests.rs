use super::*;

const SMALL: &str = r#"
name = "small"
description = "for tests"
user = "user"
workdir = "/home/user"
resources = { cpu = 1, memory_mib = 512 }
[[step]]
kind = "debian"
suite = "trixie"
packages = ["python3"]
"#;

#[track_caller]
fn refused(text: &str, part: &str) {
    let error = Recipe::parse(text).expect_err("the text should be refused");
    assert!(error.to_string().contains(part), "`{error}` should mention `{part}`");
}

#[test]
fn the_shipped_recipes_parse_and_stand_on_one_another() {
    let recipes = shipped();
    let names: Vec<_> = recipes.iter().map(|recipe| recipe.name.as_str()).collect();
    assert_eq!(names, ["base", "code-interpreter-v1"]);
    for (n, recipe) in recipes.iter().enumerate() {
        assert!(recipe.from.iter().all(|from| names[..n].contains(&from.as_str())), "{}", recipe.name);
        assert_eq!((recipe.user.as_str(), recipe.workdir.as_str()), ("user", "/home/user"));
    }
}

#[test]
fn a_recipe_survives_json() {
    for recipe in shipped() {
        let text = serde_json::to_string(&recipe).unwrap();
        assert_eq!(serde_json::from_str::<Recipe>(&text).unwrap(), recipe);
    }
}

#[test]
fn names_must_be_file_names_without_a_tag() {
    for name in ["Base", "a:b", "../x", ".hidden", ""] {
        refused(&SMALL.replace("\"small\"", &format!("{name:?}")), "is not a template name");
    }
}

#[test]
fn the_bottom_is_debian_and_only_the_bottom() {
    let from = SMALL.replace("user = \"user\"", "from = \"base\"\nuser = \"user\"");
    refused(&from, "must be the first step");
    refused(&format!("{SMALL}\n[[step]]\nkind = \"debian\"\nsuite = \"sid\"\npackages = []\n"), "first step");
    refused(&SMALL.replace("kind = \"debian\"\nsuite = \"trixie\"", "kind = \"apt\""), "first step");
}

#[test]
fn words_cannot_be_options_or_shell() {
    for package in ["--force-yes", "a b", "a;reboot", "$(id)"] {
        refused(&SMALL.replace("\"python3\"", &format!("{package:?}")), "is not a package");
    }
    refused(&SMALL.replace("/home/user", "/home/../etc"), "absolute path");
}

#[test]
fn walls_stand_unless_a_recipe_opens_them_by_name() {
    let recipe = Recipe::parse(SMALL).unwrap();
    assert!(!recipe.walls.nested_user_namespaces);
    assert!(!serde_json::to_string(&recipe).unwrap().contains("walls"), "old hashes of recipes stay");
    let open = SMALL.replace("resources =", "walls = { nested_user_namespaces = true }\nresources =");
    assert!(Recipe::parse(&open).unwrap().walls.nested_user_namespaces);
    refused(&open.replace("nested_user_namespaces", "everything"), "does not parse");
}

#[test]
fn requirements_are_pinned() {
    let pip =
        |requirement| format!("{SMALL}\n[[step]]\nkind = \"pip\"\nrequirements = [\"{requirement}\"]\n");
    assert!(Recipe::parse(&pip("numpy==2.3.5")).is_ok());
    refused(&pip("numpy"), "no exact version");
    refused(&pip("--index-url=x"), "is not a package");
}

#[test]
fn unknown_fields_and_kinds_are_refused() {
    refused(&format!("{SMALL}\n[[step]]\nkind = \"magic\"\n"), "does not parse");
    refused(&SMALL.replace("user =", "usr = 1\nuser ="), "does not parse");
}

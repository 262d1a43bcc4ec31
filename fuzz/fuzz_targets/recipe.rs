//! A template's recipe, and the manifest that is stored of one.
#![no_main]

use hood_images::{Manifest, Recipe, Step, is_template_name};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(recipe) = Recipe::parse(text) {
        sound(&recipe);
    }
    if let Ok(manifest) = serde_json::from_str::<Manifest>(text) {
        assert!(
            manifest.layers.iter().all(|key| key.as_str().len() == 64 && !key.as_str().contains(['/', '.']))
        );
        let again = serde_json::to_string(&manifest).expect("a manifest is strings and numbers");
        assert_eq!(serde_json::from_str::<Manifest>(&again).ok(), Some(manifest));
    }
});

fn sound(recipe: &Recipe) {
    assert!(is_template_name(&recipe.name) && recipe.from.as_deref().is_none_or(is_template_name));
    assert!((1..=24).contains(&recipe.steps.len()));
    assert!(is_path(&recipe.workdir) && is_word(&recipe.user));
    for step in &recipe.steps {
        assert!(match step {
            Step::Debian { suite, packages } => is_word(suite) && packages.iter().all(|name| is_word(name)),
            Step::Apt { packages } => packages.iter().all(|name| is_word(name)),
            Step::Pip { requirements } => requirements.iter().all(|name| is_word(name)),
            Step::Files { to, .. } => is_path(to),
            Step::Run { .. } | Step::User { .. } => true,
        });
        step.title();
    }
    let stored = serde_json::to_string(recipe).expect("a recipe is strings and numbers");
    assert_eq!(serde_json::from_str::<Recipe>(&stored).ok().as_ref(), Some(recipe));
}

/// One word, to a shell too, and no option.
fn is_word(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with('-')
        && !word.contains(|c: char| c.is_whitespace() || "/'\"`$;&|<>()*?\\\0".contains(c))
}

fn is_path(path: &str) -> bool {
    path.starts_with('/')
        && !path.split('/').any(|part| part == "..")
        && path.split('/').all(|part| part.is_empty() || part.starts_with('-') || is_word(part))
}

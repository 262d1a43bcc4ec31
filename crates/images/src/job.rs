//! What one step does, decided before anything runs: a pure translation from [`Step`] to [`Job`].

use crate::kernels;
use crate::key::Input;
use crate::recipe::{Recipe, Step, Tree};

/// Prepares `/run/hood-build/sources.list` and has the packages as arguments.
const APT: &str = include_str!("job/apt.sh");
/// Has the requirements as arguments.
const PIP: &str = include_str!("job/pip.sh");
/// Has the destination as its argument.
const FILES: &str = include_str!("job/files.sh");
/// Has name, id and working directory of the user as arguments.
const USER: &str = include_str!("job/user.sh");
/// Runs after each of the others.
const TIDY: &str = include_str!("job/tidy.sh");

/// Files by path beneath a folder.
pub(crate) type Files = &'static [(&'static str, &'static [u8])];

/// One step, ready to be run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Job<'a> {
    /// `mmdebstrap` into an empty directory.
    Bootstrap { suite: &'a str, packages: &'a [String] },
    /// A bash script on an overlay over the layers beneath.
    Script { parts: Vec<&'a str>, arguments: Vec<String>, files: Files },
}

// === impl Job ===

impl<'a> Job<'a> {
    pub(crate) fn of(step: &'a Step, recipe: &Recipe) -> Self {
        let script = |text, arguments| Self::Script { parts: vec![text, TIDY], arguments, files: &[] };
        match step {
            Step::Debian { suite, packages } => Self::Bootstrap { suite, packages },
            Step::Apt { packages } => script(APT, packages.clone()),
            Step::Run { script: text, .. } => script(text, Vec::new()),
            Step::Pip { requirements } => script(PIP, requirements.clone()),
            Step::User { uid } => {
                script(USER, vec![recipe.user.clone(), uid.to_string(), recipe.workdir.clone()])
            }
            Step::Files { tree, to } => {
                Self::Script { parts: vec![FILES, TIDY], arguments: vec![to.clone()], files: tree.files() }
            }
        }
    }

    /// What the job reads besides its step: part of the layer's key.
    pub(crate) fn inputs(&self) -> Vec<Input<'_>> {
        match self {
            Self::Bootstrap { .. } => Vec::new(),
            Self::Script { parts, arguments, files } => {
                let parts = parts.iter().map(|part| Input { name: "script", content: part.as_bytes() });
                let arguments =
                    arguments.iter().map(|argument| Input { name: "argument", content: argument.as_bytes() });
                let files = files.iter().map(|(name, content)| Input { name, content });
                parts.chain(arguments).chain(files).collect()
            }
        }
    }
}

// === impl Tree ===

impl Tree {
    fn files(self) -> Files {
        match self {
            Self::Kernels => kernels::FILES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::LayerKey;
    use crate::recipe::shipped;

    #[test]
    fn the_default_user_is_part_of_the_key() {
        let mut recipe = shipped().remove(0);
        let step = Step::User { uid: 1000 };
        let key = |recipe: &Recipe| LayerKey::of(None, &step, &Job::of(&step, recipe).inputs());
        let before = key(&recipe);
        recipe.user = "agent".to_owned();
        assert_ne!(before, key(&recipe));
    }

    #[test]
    fn words_of_a_recipe_are_arguments_and_never_source() {
        let recipe = shipped().remove(0);
        let step = Step::Pip { requirements: vec!["numpy==1.0".to_owned()] };
        let Job::Script { parts, arguments, .. } = Job::of(&step, &recipe) else { panic!("a script") };
        assert_eq!((parts, arguments), (vec![PIP, TIDY], vec!["numpy==1.0".to_owned()]));
    }
}

//! Recipes: what a template is made of, as data.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The recipes that `hood` carries, each before those that stand on it.
const SHIPPED: &[&str] = &[
    include_str!("../../../templates/base.toml"),
    include_str!("../../../templates/code-interpreter-v1.toml"),
];

/// The longest name of a template.
pub(crate) const NAME_MAX: usize = 64;
/// Steps of one recipe. An overlay of the kernel takes at most 500 layers; its mount options fit one page.
pub(crate) const STEPS_MAX: usize = 24;
/// The longest script of one step, in bytes.
pub(crate) const SCRIPT_MAX: usize = 64 * 1024;

/// A template before it is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// How the template is called.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// The template that this one stands on. Without it the first step must be [`Step::Debian`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Who runs commands and contexts when a request names nobody.
    pub user: String,
    /// Where they start.
    pub workdir: String,
    /// What a sandbox gets when a request says nothing.
    pub resources: Resources,
    /// Environment of every command and context, on top of that of `from`.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// A kernel that may be kept warm and forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nursery: Option<Nursery>,
    /// What its sandboxes may do that others may not. Not taken over from `from`.
    #[serde(default, skip_serializing_if = "Walls::are_whole")]
    pub walls: Walls,
    /// One layer each, bottom first.
    #[serde(rename = "step")]
    pub steps: Vec<Step>,
}

/// Default resources of a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resources {
    /// Processors.
    pub cpu: u32,
    /// Memory, MiB.
    pub memory_mib: u64,
}

/// Walls that a template opens, each by name.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walls {
    /// Programs may make user namespaces and, as root of those, the other kinds: for bubblewrap and browsers, which build
    /// a sandbox of their own. More of the kernel is within reach then; `SECURITY.md` says what.
    #[serde(default)]
    pub nested_user_namespaces: bool,
}

/// A kernel that may be kept warm and forked: what to start, and what to load before the first fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nursery {
    /// The language whose contexts are forked from it.
    pub language: String,
    /// The program in the template; the driver adds its own arguments.
    pub argv: Vec<String>,
    /// Modules.
    #[serde(default)]
    pub imports: Vec<String>,
    /// Code that touches what a first cell touches.
    #[serde(default)]
    pub warm_up: Vec<String>,
}

/// One layer's worth of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// A Debian root from nothing, with these packages. Only as the first step of a recipe without `from`.
    Debian {
        /// Debian's name of the release, as in `trixie`.
        suite: String,
        /// What to install beyond the minimal set.
        packages: Vec<String>,
    },
    /// More packages of the same Debian.
    Apt {
        /// What to install, without recommendations.
        packages: Vec<String>,
    },
    /// A bash script, as root, that stops at the first failing command.
    Run {
        /// Shown while it runs.
        title: String,
        /// The script.
        script: String,
    },
    /// Python packages into the system's Python.
    Pip {
        /// Requirements with exact versions.
        requirements: Vec<String>,
    },
    /// A folder that `hood` carries, owned by root and not writable for others.
    Files {
        /// Which.
        tree: Tree,
        /// Where it goes.
        to: String,
    },
    /// The default user, as E2B's templates have it: sudo without password, `/code` and `/usr/local` open to all.
    User {
        /// User and group id.
        uid: u32,
    },
}

/// The folders that `hood` carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tree {
    /// The context kernels.
    Kernels,
}

/// Why a text is not a recipe.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// It is not TOML of the right shape.
    #[error("the recipe does not parse")]
    Shape(#[source] Box<toml::de::Error>),
    /// The name could not be a file name, or not be told from a tag.
    #[error(
        "`{0}` is not a template name: 1 to {NAME_MAX} of a-z, 0-9, `-`, `_`, `.`, beginning with a letter or digit"
    )]
    Name(String),
    /// Layers need a bottom, and only one.
    #[error(
        "recipe `{0}`: a `debian` step must be the first step of a recipe without `from`, and stand nowhere else"
    )]
    Bottom(String),
    /// Too many layers.
    #[error("recipe `{name}` has {steps} steps; 1 to {STEPS_MAX} are possible")]
    Steps {
        /// Of the recipe.
        name: String,
        /// As many as it has.
        steps: usize,
    },
    /// A script too long to be meant.
    #[error("recipe `{name}`: the script of step `{title}` is longer than {SCRIPT_MAX} bytes")]
    Script {
        /// Of the recipe.
        name: String,
        /// Of the step.
        title: String,
    },
    /// A word that would be taken for an option, or for several words.
    #[error("recipe `{name}`: `{word}` is not a package, requirement, user or absolute path")]
    Word {
        /// Of the recipe.
        name: String,
        /// The word in question.
        word: String,
    },
    /// Without versions two builds of one recipe differ.
    #[error("recipe `{name}`: requirement `{requirement}` has no exact version, as in `numpy==2.3.5`")]
    Unpinned {
        /// Of the recipe.
        name: String,
        /// The requirement in question.
        requirement: String,
    },
}

/// The recipes that `hood` carries, each before those that stand on it.
pub fn shipped() -> Vec<Recipe> {
    SHIPPED.iter().map(|text| Recipe::parse(text).expect("a test parses every recipe we ship")).collect()
}

// === impl Recipe ===

impl Recipe {
    /// Reads and checks a recipe.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text).map_err(|source| RecipeError::Shape(Box::new(source)))?;
        recipe.check()?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), RecipeError> {
        for name in [Some(&self.name), self.from.as_ref()].into_iter().flatten() {
            if !is_template_name(name) {
                return Err(RecipeError::Name(name.clone()));
            }
        }
        if self.steps.is_empty() || self.steps.len() > STEPS_MAX {
            return Err(RecipeError::Steps { name: self.name.clone(), steps: self.steps.len() });
        }
        for (n, step) in self.steps.iter().enumerate() {
            let may_be_bottom = n == 0 && self.from.is_none();
            if matches!(step, Step::Debian { .. }) != may_be_bottom {
                return Err(RecipeError::Bottom(self.name.clone()));
            }
            self.check_step(step)?;
        }
        self.check_words([&self.user], is_word)?;
        self.check_words([&self.workdir], is_path)
    }

    fn check_step(&self, step: &Step) -> Result<(), RecipeError> {
        match step {
            Step::Debian { suite, packages } => {
                self.check_words([suite], is_word)?;
                self.check_words(packages, is_word)
            }
            Step::Apt { packages } => self.check_words(packages, is_word),
            Step::Run { title, script } if script.len() > SCRIPT_MAX => {
                Err(RecipeError::Script { name: self.name.clone(), title: title.clone() })
            }
            Step::Run { .. } | Step::User { .. } => Ok(()),
            Step::Pip { requirements } => {
                self.check_words(requirements, is_requirement)?;
                match requirements.iter().find(|requirement| !requirement.contains("==")) {
                    Some(loose) => {
                        Err(RecipeError::Unpinned { name: self.name.clone(), requirement: loose.clone() })
                    }
                    None => Ok(()),
                }
            }
            Step::Files { to, .. } => self.check_words([to], is_path),
        }
    }

    fn check_words<'a>(
        &self,
        words: impl IntoIterator<Item = &'a String>,
        fits: fn(&str) -> bool,
    ) -> Result<(), RecipeError> {
        match words.into_iter().find(|word| !fits(word)) {
            Some(word) => Err(RecipeError::Word { name: self.name.clone(), word: word.clone() }),
            None => Ok(()),
        }
    }
}

// === impl Walls ===

impl Walls {
    /// Nothing is opened.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(crate) fn are_whole(&self) -> bool {
        *self == Self::default()
    }
}

// === impl Step ===

impl Step {
    /// What a progress display says.
    pub fn title(&self) -> String {
        match self {
            Self::Debian { suite, packages } => {
                format!("install Debian {suite} with {} packages", packages.len())
            }
            Self::Apt { packages } => format!("install {}", packages.join(", ")),
            Self::Run { title, .. } => title.clone(),
            Self::Pip { requirements } => format!("install {} Python packages", requirements.len()),
            Self::Files { tree: Tree::Kernels, .. } => "copy the context kernels".to_owned(),
            Self::User { .. } => "make the default user".to_owned(),
        }
    }
}

/// Whether a template may be called so: the name becomes a file name, and `:` parts it from a tag.
pub fn is_template_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    name.len() <= NAME_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && name.chars().all(fits)
}

fn is_word(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-+._".contains(c))
}

fn is_requirement(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphanumeric())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-+._=[],".contains(c))
}

fn is_path(word: &str) -> bool {
    word.starts_with('/')
        && !word.split('/').any(|part| part == "..")
        && word.chars().all(|c| c.is_ascii_alphanumeric() || "-+._/".contains(c))
}

#[cfg(test)]
mod tests;

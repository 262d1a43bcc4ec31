//! Which model is asked, and where: from what the user said and what the environment holds.

use std::{fmt, str::FromStr, time::Duration};

use reqwest::Url;

use super::{ApiKey, Model, anthropic::Messages, endpoint::Endpoint, openai::ChatCompletions};
use crate::limits;

/// The two protocols.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Any endpoint that speaks OpenAI's chat completions.
    OpenAi,
    /// Anthropic's Messages endpoint, or one that speaks it.
    Anthropic,
}

/// What the user said on the command line.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The protocol; otherwise the key that is set decides.
    pub provider: Option<Provider>,
    /// The endpoint; otherwise the environment's, otherwise the provider's own.
    pub base_url: Option<String>,
    /// The model; otherwise the environment's, otherwise one of ours.
    pub model: Option<String>,
}

/// How long the model is waited for.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// Between two pieces of an answer.
    pub idle: Duration,
    /// For a whole turn, further attempts included.
    pub turn: Duration,
}

/// Everything needed to ask a model.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) provider: Provider,
    pub(crate) base_url: Url,
    pub(crate) key: Option<ApiKey>,
    pub(crate) model: String,
    pub(crate) patience: Patience,
}

/// Why no model can be asked.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Neither key is set, nor an endpoint that may need none.
    #[error("no key for a model: neither `OPENAI_API_KEY` nor `ANTHROPIC_API_KEY` is set")]
    NoKey,
    /// The chosen provider's key is not set.
    #[error("no key for a model: `{variable}` is not set")]
    NoKeyFor {
        /// The environment variable that would hold it.
        variable: &'static str,
    },
    /// Both keys are set and nothing says which counts.
    #[error("both `OPENAI_API_KEY` and `ANTHROPIC_API_KEY` are set")]
    Ambiguous,
    /// The key has characters that no key has.
    #[error("the key for the model holds characters that fit into no HTTP header, or nothing at all")]
    KeyMalformed,
    /// The base URL is none.
    #[error("`{given}` is not an http or https URL")]
    BadUrl {
        /// As given.
        given: String,
    },
    /// A provider that is none of the two.
    #[error("unknown provider `{given}`")]
    UnknownProvider {
        /// As given.
        given: String,
    },
    /// A time limit that is no number of seconds.
    #[error("`{variable}` must be a number of seconds from 1 to 86400, not `{given}`")]
    BadSeconds {
        /// The environment variable.
        variable: &'static str,
        /// As given.
        given: String,
    },
    /// The HTTP client could not be made.
    #[error("could not set up an HTTPS client")]
    Client(#[source] reqwest::Error),
}

impl ConfigError {
    /// What the user can do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::NoKey => {
                "set one of the two; for a model on your own machine, name its endpoint with `--base-url`, as in \
                 `--base-url http://localhost:11434/v1 --model NAME`"
            }
            Self::NoKeyFor { .. } => "set it, or choose the other provider with `--provider`",
            Self::Ambiguous => "choose one with `--provider openai` or `--provider anthropic`",
            Self::KeyMalformed => "look for line breaks or quotation marks in the variable that holds it",
            Self::BadUrl { .. } => "write it like `https://host/v1`",
            Self::UnknownProvider { .. } => "choose `openai` or `anthropic`",
            Self::BadSeconds { .. } => "unset it for the default",
            Self::Client(_) => "look whether the system has certificates (Debian: package `ca-certificates`)",
        }
        .to_owned()
    }
}

// === impl Provider ===

impl Provider {
    const fn key_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
        }
    }

    const fn base_url_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Anthropic => "ANTHROPIC_BASE_URL",
        }
    }

    const fn model_variable(self) -> &'static str {
        match self {
            Self::OpenAi => "OPENAI_MODEL",
            Self::Anthropic => "ANTHROPIC_MODEL",
        }
    }

    const fn default_base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
        }
    }

    const fn default_model(self) -> &'static str {
        match self {
            Self::OpenAi => "gpt-4.1",
            Self::Anthropic => "claude-sonnet-4-5",
        }
    }
}

impl FromStr for Provider {
    type Err = ConfigError;

    fn from_str(given: &str) -> Result<Self, ConfigError> {
        match given {
            "openai" => Ok(Self::OpenAi),
            "anthropic" => Ok(Self::Anthropic),
            _ => Err(ConfigError::UnknownProvider { given: given.to_owned() }),
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        })
    }
}

// === impl Patience ===

impl Default for Patience {
    fn default() -> Self {
        Self { idle: limits::IDLE, turn: limits::TURN }
    }
}

// === impl Config ===

impl Config {
    /// Chooses from what was asked and from `variables`, which looks up an environment variable:
    /// `OPENAI_API_KEY`, `OPENAI_BASE_URL`, `OPENAI_MODEL`, the same three for `ANTHROPIC`, and
    /// `HOOD_MODEL_IDLE_SECONDS` and `HOOD_MODEL_TURN_SECONDS`.
    pub fn choose(asked: &Asked, variables: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let set = |name: &str| variables(name).filter(|value| !value.trim().is_empty());
        let has_key = |provider: Provider| set(provider.key_variable()).is_some();
        let provider = match (asked.provider, has_key(Provider::OpenAi), has_key(Provider::Anthropic)) {
            (Some(provider), _, _) => provider,
            (None, true, true) => return Err(ConfigError::Ambiguous),
            (None, true, false) => Provider::OpenAi,
            (None, false, true) => Provider::Anthropic,
            // Whoever names an endpoint and holds no key speaks of a server of their own, and those speak this.
            (None, false, false)
                if asked.base_url.is_some() || set(Provider::OpenAi.base_url_variable()).is_some() =>
            {
                Provider::OpenAi
            }
            (None, false, false) => return Err(ConfigError::NoKey),
        };

        let named_url = asked.base_url.clone().or_else(|| set(provider.base_url_variable()));
        let key = set(provider.key_variable()).map(|key| ApiKey::parse(&key)).transpose()?;
        if key.is_none() && (named_url.is_none() || provider == Provider::Anthropic) {
            return Err(ConfigError::NoKeyFor { variable: provider.key_variable() });
        }
        let model = asked.model.clone().or_else(|| set(provider.model_variable()));
        Ok(Self {
            provider,
            base_url: parse_url(named_url.as_deref().unwrap_or(provider.default_base_url()))?,
            key,
            model: model.unwrap_or_else(|| provider.default_model().to_owned()),
            patience: Patience {
                idle: seconds(&set, "HOOD_MODEL_IDLE_SECONDS")?.unwrap_or(limits::IDLE),
                turn: seconds(&set, "HOOD_MODEL_TURN_SECONDS")?.unwrap_or(limits::TURN),
            },
        })
    }

    /// The protocol that was chosen.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The model that it speaks of. Nothing is sent yet.
    pub fn model(self) -> Result<Box<dyn Model>, ConfigError> {
        let provider = self.provider;
        let endpoint = Endpoint::new(self)?;
        Ok(match provider {
            Provider::OpenAi => Box::new(ChatCompletions::new(endpoint)),
            Provider::Anthropic => Box::new(Messages::new(endpoint)),
        })
    }
}

fn parse_url(given: &str) -> Result<Url, ConfigError> {
    let bad = || ConfigError::BadUrl { given: given.to_owned() };
    let url = Url::parse(given.trim_end_matches('/')).map_err(|_| bad())?;
    let http = matches!(url.scheme(), "http" | "https") && url.has_host();
    if http && url.query().is_none() && url.fragment().is_none() { Ok(url) } else { Err(bad()) }
}

fn seconds(
    set: &dyn Fn(&str) -> Option<String>,
    variable: &'static str,
) -> Result<Option<Duration>, ConfigError> {
    let Some(given) = set(variable) else { return Ok(None) };
    match given.trim().parse::<u32>() {
        Ok(seconds @ 1..=86_400) => Ok(Some(Duration::from_secs(seconds.into()))),
        _ => Err(ConfigError::BadSeconds { variable, given }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose(asked: Asked, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let look_up =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Config::choose(&asked, &look_up)
    }

    #[test]
    fn the_key_that_is_set_decides() {
        let config = choose(Asked::default(), &[("ANTHROPIC_API_KEY", "k")]).unwrap();
        assert_eq!(config.provider, Provider::Anthropic);
        let config = choose(Asked::default(), &[("OPENAI_API_KEY", "k")]).unwrap();
        assert_eq!(
            (config.provider, config.base_url.as_str()),
            (Provider::OpenAi, "https://api.openai.com/v1")
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(matches!(choose(Asked::default(), &[]), Err(ConfigError::NoKey)));
        let both = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
        assert!(matches!(choose(Asked::default(), &both), Err(ConfigError::Ambiguous)));
        let asked = Asked { provider: Some(Provider::Anthropic), ..Asked::default() };
        assert!(matches!(
            choose(asked, &[("OPENAI_API_KEY", "k")]),
            Err(ConfigError::NoKeyFor { variable: "ANTHROPIC_API_KEY" })
        ));
    }

    #[test]
    fn a_server_of_ones_own_needs_no_key() {
        let asked = Asked { base_url: Some("http://localhost:11434/v1/".into()), ..Asked::default() };
        let config = choose(asked, &[]).unwrap();
        assert_eq!((config.provider, config.base_url.path()), (Provider::OpenAi, "/v1"));
        assert!(config.key.is_none());
    }

    #[test]
    fn what_is_said_goes_before_what_is_set() {
        let asked =
            Asked { model: Some("mine".into()), base_url: Some("http://a/v1".into()), provider: None };
        let set = [("OPENAI_API_KEY", "k"), ("OPENAI_MODEL", "other"), ("OPENAI_BASE_URL", "http://b/v1")];
        let config = choose(asked, &set).unwrap();
        assert_eq!((config.model.as_str(), config.base_url.host_str()), ("mine", Some("a")));
    }

    #[test]
    fn nonsense_is_refused() {
        let url = |url: &str| Asked { base_url: Some(url.into()), ..Asked::default() };
        for bad in ["localhost:80", "ftp://host/v1", "http://host/v1?key=1", "nothing"] {
            assert!(matches!(choose(url(bad), &[]), Err(ConfigError::BadUrl { .. })), "{bad}");
        }
        let set = [("OPENAI_API_KEY", "k"), ("HOOD_MODEL_IDLE_SECONDS", "soon")];
        assert!(matches!(choose(Asked::default(), &set), Err(ConfigError::BadSeconds { .. })));
    }
}

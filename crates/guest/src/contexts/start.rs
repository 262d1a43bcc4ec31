//! From a language's program to a kernel that is ready, or to the reason why there is none.

use std::time::Duration;

use hood_wire::Level;

use super::death::End;
use super::kernel::{Event, Kernel};
use super::manifest::{Manifest, ManifestError};
use super::outbox::Source;
use super::protocol::Message;
use crate::app::App;
use crate::launch::{Launch, LaunchError, Stdio};
use crate::limits::LAST_WORDS;
use crate::reaper::Exit;

/// There is no kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    #[error(
        "no kernel for language `{language}` in template {template}: it has {known}; name one of these, or use a template that has `{language}`"
    )]
    UnknownLanguage { language: String, template: String, known: String },
    #[error("the {language} kernel could not be started in {cwd}: {source}")]
    Launch { language: String, cwd: String, source: LaunchError },
    #[error("the {language} kernel was not ready within {} s{words}", .limit.as_secs())]
    Slow { language: String, limit: Duration, words: Words },
    #[error("the {language} kernel ended before it was ready: {how}{words}")]
    Ended { language: String, how: String, words: Words },
    #[error("the {language} kernel could not get ready: {message}{words}")]
    Fault { language: String, message: String, words: Words },
}

/// The end of what it printed.
#[derive(Debug, Default)]
pub(crate) struct Words(String);

impl std::fmt::Display for Words {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.trim() {
            "" => Ok(()),
            words => write!(f, "; its last words: {words}"),
        }
    }
}

impl Words {
    fn add(&mut self, text: &str) {
        self.0.push_str(text);
        let mut cut = self.0.len().saturating_sub(LAST_WORDS);
        while !self.0.is_char_boundary(cut) {
            cut += 1;
        }
        self.0.drain(..cut);
    }
}

/// The language's own name.
pub(crate) fn language(app: &App, name: &str) -> Result<String, StartError> {
    let manifest = Manifest::read(&app.contexts.settings().manifest)?;
    match manifest.find(name) {
        Some((name, _)) => Ok(name.to_owned()),
        None => Err(unknown(app, name, &manifest)),
    }
}

/// Starts a kernel and waits until it is ready. Dropping the future ends it.
///
/// A fork of the template's nursery is ready at once. Where there is none (yet), or it fails, the program is started.
pub(crate) async fn start(app: &App, language: &str, cwd: &str) -> Result<Kernel, StartError> {
    if app.config.nursery.as_deref() == Some(language) {
        let forked = match Kernel::fork(app, cwd).await {
            Ok(kernel) => wait_until_ready(app, language, kernel).await.map_err(|error| error.to_string()),
            Err(reason) => Err(reason),
        };
        match forked {
            Ok(kernel) => return Ok(kernel),
            Err(reason) => {
                app.journal.log(Level::Debug, "context", format!("{language} starts cold: {reason}"));
            }
        }
    }
    wait_until_ready(app, language, launch(app, language, cwd)?).await
}

async fn wait_until_ready(app: &App, language: &str, mut kernel: Kernel) -> Result<Kernel, StartError> {
    let settings = app.contexts.settings();
    let mut words = Words::default();
    let ready = tokio::time::timeout(settings.start, until_ready(&mut kernel, &mut words));
    let language = language.to_owned();
    match ready.await {
        Ok(Ok(())) => Ok(kernel),
        Ok(Err(NotReady::Ended(end))) => Err(StartError::Ended { language, how: how(end), words }),
        Ok(Err(NotReady::Fault(message))) => Err(StartError::Fault { language, message, words }),
        Err(_) => Err(StartError::Slow { language, limit: settings.start, words }),
    }
}

enum NotReady {
    Ended(End),
    Fault(String),
}

async fn until_ready(kernel: &mut Kernel, words: &mut Words) -> Result<(), NotReady> {
    loop {
        match kernel.next().await {
            Event::Said(Message::Ready { pid }) => {
                kernel.is_known_as(pid);
                return Ok(());
            }
            Event::Said(Message::Fault { message }) => return Err(NotReady::Fault(message)),
            Event::Ended(end) => return Err(NotReady::Ended(end)),
            Event::Printed(Source::Stdout | Source::Stderr, text) => words.add(&text),
            Event::Said(_) | Event::Bad(_) => {}
        }
    }
}

fn launch(app: &App, language: &str, cwd: &str) -> Result<Kernel, StartError> {
    let manifest = Manifest::read(&app.contexts.settings().manifest)?;
    let Some((_, program)) = manifest.find(language) else { return Err(unknown(app, language, &manifest)) };
    let (first, rest) = program.argv.split_first().ok_or_else(|| unknown(app, language, &manifest))?;
    // The manifest has defaults; what the sandbox was created with wins.
    let global = app.global_env();
    let env = program.env.iter().filter(|(key, _)| !global.contains_key(*key));
    let what = Launch {
        program: first.clone(),
        args: rest.to_vec(),
        env: env.map(|(key, value)| (key.clone(), value.clone())).collect(),
        cwd: Some(cwd.to_owned()),
        user: None,
        stdio: Stdio::Output,
    };
    Kernel::launch(app, what).map_err(|source| StartError::Launch {
        language: language.to_owned(),
        cwd: cwd.to_owned(),
        source,
    })
}

fn unknown(app: &App, language: &str, manifest: &Manifest) -> StartError {
    StartError::UnknownLanguage {
        language: language.to_owned(),
        template: app.config.template_id.clone(),
        known: manifest.names(),
    }
}

fn how(end: End) -> String {
    match end {
        End::Process(Some(Exit::Code(status))) => format!("exit status {status}"),
        End::Process(Some(Exit::Signal(signal))) => format!("signal {signal}"),
        End::Process(None) => "nobody knows how".to_owned(),
        End::Socket => "it closed its control socket".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_the_last_ones_and_whole() {
        let mut words = Words::default();
        for _ in 0..1000 {
            words.add("é漢");
        }
        words.add("the end");
        assert!(words.0.len() <= LAST_WORDS && words.0.ends_with("漢the end"));
        assert_eq!(Words::default().to_string(), "");
    }
}

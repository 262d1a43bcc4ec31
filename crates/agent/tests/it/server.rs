//! The model server of `tests/agent`, started for one test.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use hood_agent::Provider;

/// The key that the server takes when it is told no other.
pub(crate) const KEY: &str = "sk-test-hood-0123456789abcdef";

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/agent")
}

pub(crate) struct ModelServer {
    child: Child,
    port: u16,
}

impl ModelServer {
    pub(crate) fn start(conversation: &str, misbehave: &str) -> Self {
        let mut command = Command::new("python3");
        command.current_dir(folder()).arg("model_server.py").arg("--until-stdin-closes");
        command.arg("--conversation").arg(format!("conversations/{conversation}"));
        if !misbehave.is_empty() {
            command.args(["--misbehave", misbehave]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, port: line.trim().parse().unwrap() }
    }

    pub(crate) fn base_url(&self, provider: Provider) -> String {
        let path = if provider == Provider::OpenAi { "/v1" } else { "" };
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

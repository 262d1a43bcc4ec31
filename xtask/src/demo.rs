//! `cargo xtask demo`: from a fresh machine to two users' finished work.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process::{bounded, leashed, run as run_shown};
use crate::server::Server;
use crate::setup::Venv;
use crate::timing::Timing;
use crate::{repo, setup, templates, test};

/// One user's work takes well under a minute.
const STEP: Duration = Duration::from_secs(10 * 60);

/// The key that the model of the demonstration accepts; it opens nothing else.
const MODEL_KEY: &str = "sk-test-hood-0123456789abcdef";

/// The conversation, written beforehand.
const CONVERSATION: &str = "conversations/sales_report.json";

pub(crate) fn run() -> Result<ExitCode> {
    let mut timing = Timing::default();
    let outcome = steps(&mut timing);
    timing.print();
    let out = outcome?;
    println!("\nResults lie in {}:", out.display());
    println!("  chart.png, cells.txt   what the official e2b-code-interpreter package brought back");
    println!(
        "  report/report.pdf, report/report.xlsx, report/charts/, report/answer.md, report/run.json   `hood ask`"
    );
    Ok(ExitCode::SUCCESS)
}

fn steps(timing: &mut Timing) -> Result<PathBuf> {
    timing.step("set up", setup::run)?;
    let hood = timing.step("build hood", || test::build(test::Profile::Release))?;
    timing.step("build the templates", || templates::build(&hood))?;
    let out = repo::root().join("demo-out");
    let server = timing.step("start the server", || {
        make_empty(&out)?;
        Server::start(&hood, &out.join("server.log"))
    })?;
    let agent = repo::root().join("tests/agent");
    let table = out.join("sales.csv");
    timing.step("make 45,000 rows of sales", || {
        run_shown(
            bounded(STEP, "python3").arg("-B").arg(agent.join("make_sales.py")).arg("--out").arg(&table),
        )
    })?;
    timing.step("the official Python package", || {
        let mut script = bounded(STEP, Venv::SDK.program("python"));
        script.arg("-B").arg(repo::root().join("tests/demo/official_sdk.py")).arg(&table).arg(&out);
        run_shown(script.envs(server.env()))
    })?;
    let report = out.join("report");
    timing.step("hood ask", || ask(&hood, &server, &agent, &table, &report))?;
    timing.step("check the report", || {
        let mut check = bounded(STEP, "python3");
        run_shown(check.arg("-B").arg(agent.join("check_report.py")).arg(&report).arg(&table))
    })?;
    timing.step("stop the server", || {
        drop(server);
        Ok(())
    })?;
    Ok(out)
}

fn make_empty(out: &Path) -> Result<()> {
    if out.exists() {
        fs::remove_dir_all(out).with_context(|| format!("cannot empty {}", out.display()))?;
    }
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))
}

fn ask(hood: &Path, server: &Server, agent: &Path, table: &Path, report: &Path) -> Result<()> {
    let model = Model::start(agent)?;
    let conversation =
        fs::read_to_string(agent.join(CONVERSATION)).context("cannot read the conversation")?;
    let conversation: serde_json::Value = serde_json::from_str(&conversation)?;
    let question = conversation["question"].as_str().context("a conversation has a question")?;
    println!("the question: {question}");
    let mut command = bounded(STEP, hood);
    command.args(["ask", question, "--provider", "openai", "--model", "written-beforehand", "--base-url"]);
    command
        .arg(format!("http://127.0.0.1:{}/v1", model.port))
        .arg("--file")
        .arg(table)
        .arg("--out")
        .arg(report);
    run_shown(command.envs(server.env()).env("OPENAI_API_KEY", MODEL_KEY))
}

/// A model that says what was written beforehand, on a free port.
struct Model {
    child: Child,
    port: u16,
}

impl Model {
    fn start(agent: &Path) -> Result<Self> {
        let mut command = leashed("python3");
        command
            .arg("-B")
            .arg(agent.join("model_server.py"))
            .arg("--conversation")
            .arg(agent.join(CONVERSATION));
        command.args(["--key", MODEL_KEY]).stdout(Stdio::piped());
        let child = command.spawn().context("cannot start the model")?;
        let mut model = Self { child, port: 0 };
        let stdout = model.child.stdout.as_mut().context("its output is piped")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("cannot read the model's port")?;
        model.port =
            line.trim().parse().with_context(|| format!("the model said {line:?} instead of its port"))?;
        Ok(model)
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        if let Err(error) = self.child.kill().and_then(|()| self.child.wait()) {
            eprintln!("warning: the model (pid {}) cannot be ended: {error}", self.child.id());
        }
    }
}

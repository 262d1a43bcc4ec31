//! Measurements against a release build.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;

use crate::process::{bounded, run};
use crate::server::Server;
use crate::{repo, setup, templates, test};

/// Twenty sandboxes and six hundred requests take a minute or two.
const LIMIT: Duration = Duration::from_secs(20 * 60);

/// The first measurement; `bench/first.py` says what each number includes.
pub(crate) fn first(arguments: &[&str]) -> Result<ExitCode> {
    let options = test::Options::parse(arguments)?;
    let hood = options.hood(|| {
        setup::run()?;
        test::build(test::Profile::Release)
    })?;
    templates::build(&hood)?;
    let server = Server::start(&hood, &repo::target().join("bench/server.log"))?;
    let mut script = bounded(LIMIT, "python3");
    script.arg(repo::root().join("bench/first.py")).envs(server.env());
    script.env("HOOD_PID", server.pid().to_string()).env("HOOD_DATA_DIR", &server.data_dir);
    run(&mut script)?;
    Ok(ExitCode::SUCCESS)
}

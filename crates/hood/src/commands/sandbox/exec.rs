//! `hood sandbox exec`.

use anyhow::{Context as _, Result};
use hood_client::{Client, ClientError, Code, Command, Stdio};

use crate::cli::ExecArguments;
use crate::commands::{Context, relay};
use crate::exit::{Exit, Hinted};

pub(crate) async fn run(context: &Context, arguments: ExecArguments) -> Result<Exit> {
    let client: Client = context.client()?;
    let sandbox = client.attach(&arguments.id).await?;
    let mut words = arguments.command.into_iter();
    let command = Command {
        program: words.next().context("clap asks for at least one word")?,
        args: words.collect(),
        envs: arguments.envs.into_iter().collect(),
        cwd: arguments.cwd,
        user: arguments.user,
        stdio: if arguments.interactive { Stdio::Piped } else { Stdio::Output },
        limit: arguments.timeout,
    };
    let mut process = sandbox.start(&command).await.map_err(|error| explained(error, &command))?;
    let feeding = arguments.interactive.then(|| relay::feed(process.input())).transpose()?;
    let printer = context.printer;
    let end = relay::follow(&mut process, &mut |event| relay::pass_on(printer, &event)).await;
    drop(feeding);
    match end {
        Ok(end) => {
            if end.is_out_of_memory() {
                printer.error("the program was ended because the sandbox ran out of memory");
            }
            Ok(Exit::Program(end.code()))
        }
        Err(error) if is_late(&error) => {
            printer.error(
                "the program ran longer than `--timeout` and was killed with everything it had started",
            );
            Ok(Exit::TimedOut)
        }
        Err(error) => Err(error),
    }
}

/// Whether the call's own time limit ended it.
pub(crate) fn is_late(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ClientError::Failed { code: Code::DeadlineExceeded, .. }))
}

/// A whole command line in one word is the usual mistake.
fn explained(error: ClientError, command: &Command) -> anyhow::Error {
    if error.is_not_found() && command.args.is_empty() && command.program.contains(' ') {
        let hint = format!("for a command line, run a shell: `-- bash -c '{}'`", command.program);
        return Hinted::new(error.to_string(), hint).into();
    }
    error.into()
}

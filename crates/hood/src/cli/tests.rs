//! The help texts, as users see them.

use clap::CommandFactory;

use super::*;

fn help(path: &[&str]) -> String {
    let mut command = Cli::command();
    command.build();
    for name in path {
        command = command.find_subcommand(name).expect("a command").clone();
    }
    command.render_long_help().to_string()
}

#[test]
fn arguments_fit_together() {
    Cli::command().debug_assert();
}

#[test]
fn help_of_hood() {
    insta::assert_snapshot!(help(&[]));
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(help(&["run"]));
}

#[test]
fn help_of_ask() {
    insta::assert_snapshot!(help(&["ask"]));
}

#[test]
fn help_of_serve() {
    insta::assert_snapshot!(help(&["serve"]));
}

#[test]
fn help_of_sandbox() {
    let all = [
        "list", "show", "create", "exec", "pause", "resume", "fork", "snapshot", "rollback", "kill", "logs",
        "connect",
    ]
    .map(|name| help(&["sandbox", name]));
    insta::assert_snapshot!(help(&["sandbox"]) + &all.join("\n----\n"));
}

#[test]
fn help_of_secret() {
    let all = ["list", "set", "delete"].map(|name| help(&["secret", name]));
    insta::assert_snapshot!(help(&["secret"]) + &all.join("\n----\n") + &help(&["ca"]));
}

#[test]
fn help_of_snapshot() {
    let all = ["list", "delete"].map(|name| help(&["snapshot", name]));
    insta::assert_snapshot!(help(&["snapshot"]) + &all.join("\n----\n"));
}

#[test]
fn help_of_volume() {
    let all = ["list", "create", "delete"].map(|name| help(&["volume", name]));
    insta::assert_snapshot!(help(&["volume"]) + &all.join("\n----\n"));
}

#[test]
fn help_of_template() {
    let all = ["list", "build", "show", "gc", "remove"].map(|name| help(&["template", name]));
    insta::assert_snapshot!(help(&["template"]) + &all.join("\n----\n"));
}

#[test]
fn a_program_and_its_arguments_come_after_two_dashes() {
    let cli = Cli::try_parse_from(["hood", "sandbox", "exec", "i1", "-e", "A=1", "--", "ls", "-l"]).unwrap();
    let Command::Sandbox(SandboxCommand::Exec(exec)) = cli.command else { panic!("exec") };
    assert_eq!((exec.command, exec.envs), (vec!["ls".into(), "-l".into()], vec![("A".into(), "1".into())]));
    assert!(Cli::try_parse_from(["hood", "sandbox", "exec", "i1"]).is_err());
}

#[test]
fn code_may_come_from_standard_input() {
    let cli = Cli::try_parse_from(["hood", "run", "-", "--file", "a", "--file", "b", "--", "--x"]).unwrap();
    let Command::Run(run) = cli.command else { panic!("run") };
    assert_eq!((run.file.to_str(), run.files.len(), run.arguments), (Some("-"), 2, vec!["--x".to_owned()]));
}

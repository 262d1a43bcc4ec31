//! `hood env`: what a shell must know, to be evaluated.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Context;
use crate::cli::{EnvArguments, Shell};
use crate::exit::{Exit, Hinted};
use crate::local::Hosts;

pub(crate) fn run(context: &Context, arguments: &EnvArguments) -> Result<Exit> {
    let address = context.address_for_shell()?;
    let variables = if arguments.host_mode {
        by_hosts(&hosts(context)?, &address.key)
    } else {
        variables(&address.url, &address.key).to_vec()
    };
    if context.json {
        context.printer.json(&variables.into_iter().collect::<BTreeMap<_, _>>())?;
    } else {
        for (name, value) in variables {
            context.printer.line(&assignment(arguments.shell, name, &value))?;
        }
    }
    Ok(Exit::Done)
}

fn hosts(context: &Context) -> Result<Hosts> {
    context.data_dir.server_hosts().ok_or_else(|| {
        let message = "the server that runs here has no TLS, which reaching it by host names needs";
        Hinted::new(message, "start it with `hood serve --tls --domain NAME:PORT`, see `hood serve --help`")
            .into()
    })
}

/// Only the domain: the SDKs make `https://api.<domain>` and `https://<port>-<id>.<domain>` of it (reference 1.4).
fn by_hosts(hosts: &Hosts, key: &str) -> Vec<(&'static str, String)> {
    let mut variables = vec![("E2B_API_KEY", key.to_owned()), ("E2B_DOMAIN", hosts.domain.clone())];
    if let Some(bundle) = &hosts.bundle {
        // Python's SDK takes the first, Node the second.
        let bundle = bundle.display().to_string();
        variables.extend([("SSL_CERT_FILE", bundle.clone()), ("NODE_EXTRA_CA_CERTS", bundle)]);
    }
    variables
}

/// One address serves control plane and sandboxes; `get_host()` of the SDKs builds on the domain.
fn variables(url: &str, key: &str) -> [(&'static str, String); 5] {
    let url = url.trim_end_matches('/');
    let domain = url.split_once("://").map_or(url, |(_, rest)| rest);
    [
        ("E2B_API_URL", url.to_owned()),
        ("E2B_SANDBOX_URL", url.to_owned()),
        ("E2B_VOLUME_API_URL", url.to_owned()),
        ("E2B_API_KEY", key.to_owned()),
        ("E2B_DOMAIN", domain.to_owned()),
    ]
}

fn assignment(shell: Shell, name: &str, value: &str) -> String {
    match shell {
        Shell::Bash => format!("export {name}='{}'", value.replace('\'', r"'\''")),
        Shell::Fish => format!("set -gx {name} '{}';", value.replace('\\', r"\\").replace('\'', r"\'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_points_at_one_address() {
        let lines = variables("http://127.0.0.1:7070/", "e2b_0")
            .map(|(name, value)| assignment(Shell::Bash, name, &value));
        assert_eq!(
            lines,
            [
                "export E2B_API_URL='http://127.0.0.1:7070'",
                "export E2B_SANDBOX_URL='http://127.0.0.1:7070'",
                "export E2B_VOLUME_API_URL='http://127.0.0.1:7070'",
                "export E2B_API_KEY='e2b_0'",
                "export E2B_DOMAIN='127.0.0.1:7070'",
            ]
        );
    }

    #[test]
    fn by_hosts_there_is_a_domain_and_what_to_believe() {
        let hosts = Hosts { domain: "hood.test:8443".into(), bundle: Some("/d/ca-bundle.crt".into()) };
        let names: Vec<_> = by_hosts(&hosts, "e2b_0").into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["E2B_API_KEY", "E2B_DOMAIN", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"]);
        assert_eq!(by_hosts(&Hosts { bundle: None, ..hosts }, "e2b_0").len(), 2);
    }

    #[test]
    fn a_value_cannot_leave_its_quotes() {
        assert_eq!(assignment(Shell::Bash, "A", "x'; rm -rf $HOME"), r"export A='x'\''; rm -rf $HOME'");
        assert_eq!(assignment(Shell::Fish, "A", r"x\'; rm"), r"set -gx A 'x\\\'; rm';");
    }
}

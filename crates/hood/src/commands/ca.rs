//! `hood ca`: the certificate on standard output, what to do with it on standard error.

use anyhow::Result;

use super::Context;
use crate::exit::{Exit, Hinted};

/// By what people have.
const HOW: &str = "\
to trust it, after `sudo hood ca > fumehood.crt`:
  Debian, Ubuntu     sudo cp fumehood.crt /usr/local/share/ca-certificates/ && sudo update-ca-certificates
  Fedora, RHEL       sudo cp fumehood.crt /etc/pki/ca-trust/source/anchors/ && sudo update-ca-trust
  macOS              sudo security add-trusted-cert -d -k /Library/Keychains/System.keychain fumehood.crt
  Python's E2B SDK   export SSL_CERT_FILE=$PWD/fumehood.crt
  JavaScript's       export NODE_EXTRA_CA_CERTS=$PWD/fumehood.crt
Whoever trusts it believes every certificate that this server signs: keep the data directory to root.";

pub(crate) fn run(context: &Context) -> Result<Exit> {
    if !context.data_dir.path().is_dir() {
        let message = format!("there is no data directory {}", context.data_dir.path().display());
        return Err(Hinted::new(message, "`hood serve --tls` makes it, and its authority").into());
    }
    let authority = context.data_dir.ingress_authority()?;
    if context.json {
        context.printer.json(&serde_json::json!({ "certificate": authority.certificate_pem() }))?;
    } else {
        context.printer.line(authority.certificate_pem().trim_end())?;
        context.printer.note(HOW);
    }
    Ok(Exit::Done)
}

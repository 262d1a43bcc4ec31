//! `hood serve`.

use anyhow::Result;

use super::Context;
use crate::cli::{CertificateArguments, ServeArguments};
use crate::exit::Exit;
use crate::serve;

pub(crate) async fn run(context: &Context, arguments: ServeArguments) -> Result<Exit> {
    let config = crate::config::read(arguments.config.as_deref(), context.data_dir.path())?;
    let options = serve::Options {
        data_dir: context.data_dir.clone(),
        templates: context.data_dir.clone(),
        mode: hood_driver_native::mode(),
        listen: arguments.listen,
        max_sandboxes: arguments.max_sandboxes,
        domain: arguments.domain,
        without: serve::Without::these(arguments.without.without),
        certificate: certificate(arguments.certificate),
        config,
        dns: arguments.dns.map(|listen| (listen, arguments.dns_answer)),
    };
    serve::run(&options).await?;
    Ok(Exit::Done)
}

fn certificate(arguments: CertificateArguments) -> serve::Certificate {
    if let Some(email) = arguments.acme {
        let directory = arguments.acme_directory.unwrap_or_else(serve::Acme::default_directory);
        return serve::Certificate::Acme(serve::Acme { email, directory, root: arguments.acme_ca });
    }
    match (arguments.tls, arguments.tls_cert, arguments.tls_key) {
        (_, Some(chain), Some(key)) => serve::Certificate::Files { chain, key },
        (true, ..) => serve::Certificate::Own,
        _ => serve::Certificate::None,
    }
}

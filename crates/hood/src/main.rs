//! The `hood` command.
#![forbid(unsafe_code)]
#![expect(missing_docs, reason = "a binary has no public items")]

mod local;
mod serve;

fn main() -> anyhow::Result<std::process::ExitCode> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some(hood_driver_native::WARDEN_COMMAND) {
        return Ok(hood_driver_native::run_warden());
    }
    let value = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let data_dir = local::DataDir::new(value("--data-dir").unwrap_or("/var/lib/hood".into()));
    if args.get(1).map(String::as_str) == Some("env") {
        let url = data_dir.server_url().unwrap_or_default();
        println!("export E2B_API_URL={url} E2B_SANDBOX_URL={url} E2B_VOLUME_API_URL={url} E2B_API_KEY={} E2B_DOMAIN={}", data_dir.read_key()?, url.trim_start_matches("http://"));
        return Ok(std::process::ExitCode::SUCCESS);
    }
    hood_driver_native::enter_private_mounts()?;
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let listen = value("--listen").unwrap_or("127.0.0.1:7070".into()).parse()?;
    let options = serve::Options { data_dir, listen, max_sandboxes: 256, domain: None };
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve::run(&options))?;
    Ok(std::process::ExitCode::SUCCESS)
}

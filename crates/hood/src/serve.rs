//! `hood serve`: configuration → build → run → drain. The only place that names a concrete driver, store and dialect.

mod acme;
mod audit;
mod dns;
mod embedded;
mod gate;
mod key;
mod listener;
mod metrics;
mod secrets;
mod templates;
mod tls;
mod trust;
mod walls;
mod world;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::routing::get;
use hood_dialect_e2b::{App, StoredKeys};
use hood_driver_api::{Bytes, Check, Driver, Mode, Wall};
use hood_driver_native::NativeDriver;
use hood_engine::ports::Templates;
use hood_engine::{Engine, World};
use hood_gate::Authority;
use hood_store::{SecretStore, SqliteStore};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub(crate) use acme::Acme;
pub(crate) use embedded::{Embedded, start as embedded};
pub(crate) use tls::Certificate;
pub(crate) use walls::Without;

use crate::limits::{DRAIN, SMALLEST_LAYERS};
use crate::local::{DataDir, Hosts, Lock};
use acme::Challenges;
use listener::{Listener, PerConnection};
use secrets::StoredSecrets;
use templates::InstalledTemplates;
use trust::Trust;
use world::{KernelEntropy, SystemClock};

/// The guest's program, built by `build.rs`.
static GUEST: &[u8] = include_bytes!(env!("HOOD_GUEST"));

/// The library by which a nursery's forks step into sandboxes, built by `build.rs`.
static JOINER: &[u8] = include_bytes!(env!("HOOD_JOINER"));

/// What `hood serve` can be told.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) data_dir: DataDir,
    /// With which rights this process builds walls.
    pub(crate) mode: Mode,
    /// Where templates are; usually the same.
    pub(crate) templates: DataDir,
    pub(crate) listen: SocketAddr,
    /// Sandboxes at once.
    pub(crate) max_sandboxes: usize,
    /// What `get_host()` names, with its port where it is not 443; the listening address when absent.
    pub(crate) domain: Option<String>,
    /// Walls that it may start without.
    pub(crate) without: Without,
    /// Where the server's certificate comes from.
    pub(crate) certificate: Certificate,
    /// The configuration file.
    pub(crate) config: crate::config::File,
    /// Where to answer names below the domain, and with which address if not the one listened on.
    pub(crate) dns: Option<(SocketAddr, Option<IpAddr>)>,
}

/// Everything that is up, before the first request.
struct Server {
    engine: Engine,
    driver: Arc<dyn Driver>,
    listener: Listener,
    router: Router,
    url: String,
    key: String,
    /// Made in this run: to be shown once.
    key_is_new: bool,
    /// Walls that the server has started without.
    missing: Vec<Check>,
    /// Which clients are sandboxes.
    visitors: hood_gate::Visitors,
    /// Writes what the gate records.
    audit: audit::Writer,
    _lock: Lock,
}

/// Runs until SIGTERM or SIGINT.
pub(crate) async fn run(options: &Options) -> Result<()> {
    lift_descriptors();
    let stop = CancellationToken::new();
    let signals = stop.clone();
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::task::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            result = tokio::signal::ctrl_c() => if let Err(error) = result {
                tracing::warn!(%error, "cannot wait for SIGINT");
            },
        }
        signals.cancel();
    });
    let server = build(options).await?;
    for Check { wall, found, .. } in &server.missing {
        tracing::warn!(%wall, found, "started without a wall, as told");
    }
    announce(&server);
    serve(server, stop).await
}

/// As many descriptors as the host allows: each connection out of a sandbox takes two, and the usual limit is 1024.
fn lift_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let most = getrlimit(Resource::Nofile).maximum;
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most }) {
        tracing::warn!(%error, "the limit of open files stays as it is");
    }
}

/// Puts everything up.
async fn build(options: &Options) -> Result<Server> {
    let data_dir = &options.data_dir;
    // Before anything is made. The limit of layers is only known when it has been tried.
    let mut found = hood_driver_native::checks(options.mode, data_dir.path());
    found.retain(|check| options.mode == Mode::Rootless || check.wall != Wall::Disk);
    walls::verdict(options.mode, &found, &options.without)?;
    data_dir.create()?;
    let lock = data_dir.lock()?;
    let store = Arc::new(SqliteStore::open(data_dir.store_file()).context("cannot open the store")?);
    let own = own_authority(&options.certificate, data_dir)?;
    let gate = data_dir.gate_authority()?;
    let authorities: Vec<_> = std::iter::once(&gate).chain(&own).collect();
    let trust = Trust::new(data_dir.path(), &authorities);
    let templates = Arc::new(InstalledTemplates::open(options.templates.path(), trust)?);
    let config = hood_driver_native::Config {
        data_dir: data_dir.path().to_owned(),
        guest: GUEST,
        joiner: JOINER,
        layers: layers_size(data_dir)?,
    };
    let driver = tokio::task::spawn_blocking(move || NativeDriver::start(&config))
        .await?
        .context("the native driver cannot work on this host; `hood doctor` shows what is missing")?;
    let driver: Arc<dyn Driver> = Arc::new(driver);
    let built = build_around(options, driver.clone(), store, templates, lock).await;
    if built.is_err() {
        driver.close().await;
    }
    built
}

/// Puts up what stands before the driver, which is the caller's to close when this fails.
async fn build_around(
    options: &Options,
    driver: Arc<dyn Driver>,
    store: Arc<SqliteStore>,
    templates: Arc<InstalledTemplates>,
    lock: Lock,
) -> Result<Server> {
    let data_dir = &options.data_dir;
    let missing = walls::verdict(options.mode, &driver.checks(), &options.without)?;
    let engine_config =
        hood_engine::Config { max_sandboxes: options.max_sandboxes, ..hood_engine::Config::default() };
    let listener = TcpListener::bind(options.listen)
        .await
        .with_context(|| format!("cannot listen on {}; choose another with `--listen`", options.listen))?;
    let address = listener.local_addr()?;
    let domain = options.domain.clone().unwrap_or_else(|| address.to_string());
    let secrets = StoredSecrets(Arc::new(SecretStore::open(store.clone(), &data_dir.secrets_key())?));
    let (audit_log, audit) = audit::start(store.clone(), options.config.gate.keep_audit());
    let audit_dropped = audit_log.dropped();
    let around = gate::Around {
        authority: data_dir.gate_authority()?,
        own: own_authority(&options.certificate, data_dir)?,
        domain: &domain,
        listen: address,
        sink: Arc::new(audit_log),
        secrets: Arc::new(secrets.clone()),
    };
    let gate = gate::start(&options.config.gate, around)?;
    let world = World {
        driver: driver.clone(),
        gate: Arc::new(gate::Gated(gate.clone())),
        store: store.clone(),
        templates: templates.clone(),
        clock: Arc::new(SystemClock),
        entropy: Arc::new(KernelEntropy),
    };
    let engine = Engine::new(engine_config, world);
    let recovered = engine.recover().await.context("cannot bring the store in order")?;
    if recovered.ended + recovered.swept > 0 {
        tracing::info!(ended = recovered.ended, swept = recovered.swept, "swept what an earlier run left");
    }
    let (key, key_is_new) = key::ensure(&store, data_dir).await?;
    prepare(driver.clone(), templates.clone());
    if let Some((listen, answer)) = options.dns {
        let challenges = Challenges::default();
        dns::start(listen, &domain, answer.unwrap_or(address.ip()), challenges.clone()).await?;
        if let Certificate::Acme(acme) = &options.certificate {
            let name = tls::host_of(&domain).to_owned();
            let place = acme::Place::new(data_dir.path(), acme, &name);
            tokio::spawn(acme::keep(acme.clone(), name, place, challenges));
        }
    }
    let acceptor = tls::acceptor(&options.certificate, data_dir, &domain)?;
    let listener = Listener { socket: listener, acceptor };
    let app = App::new(engine.clone(), Arc::new(StoredKeys(store.clone())), templates, &domain)
        .with_secrets(Arc::new(secrets));
    let visitors = gate.visitors();
    let registry = metrics::registry(&engine, gate, audit_dropped);
    let local = Router::new().route("/metrics", get(move || std::future::ready(metrics::render(&registry))));
    let local = local.merge(audit::router(store, app.clone()));
    let router = hood_dialect_e2b::router_beside(app, local);
    let url = format!("http://{address}");
    data_dir.write_server(&url, hosts(&options.certificate, data_dir, &domain)?)?;
    Ok(Server {
        engine,
        driver,
        listener,
        router,
        url,
        key,
        key_is_new,
        missing,
        visitors,
        audit,
        _lock: lock,
    })
}

/// The authority that has signed the server's own certificate, where that is its own.
fn own_authority(certificate: &Certificate, data_dir: &DataDir) -> Result<Option<Authority>> {
    match certificate {
        Certificate::Own | Certificate::Acme(_) => Ok(Some(data_dir.ingress_authority()?)),
        Certificate::None | Certificate::Files { .. } => Ok(None),
    }
}

/// How clients reach the server by names, where it has TLS.
fn hosts(certificate: &Certificate, data_dir: &DataDir, domain: &str) -> Result<Option<Hosts>> {
    let bundle = match certificate {
        Certificate::None => return Ok(None),
        Certificate::Files { .. } => None,
        // Until the authority has answered, clients need our own.
        Certificate::Own | Certificate::Acme(_) => {
            let authority = data_dir.ingress_authority()?;
            Some(data_dir.write_bundle(authority.certificate_pem()).context("cannot write the CA bundle")?)
        }
    };
    Ok(Some(Hosts { domain: domain.to_owned(), bundle }))
}

/// In the background: the first sandbox of a template should find its nursery warm.
fn prepare(driver: Arc<dyn Driver>, templates: Arc<InstalledTemplates>) {
    tokio::task::spawn(async move {
        for template in templates.list().await {
            if template.root.nursery.is_some() {
                driver.prepare(&template.root).await;
            }
        }
    });
}

/// Accepts requests until `stop`, then ends in order: no new sandboxes, all running ones ended and recorded, requests
/// cut, store closed.
async fn serve(server: Server, stop: CancellationToken) -> Result<()> {
    let drained = CancellationToken::new();
    let graceful = drained.clone();
    let router = listener::with_marks(server.router, server.visitors);
    let service = router.into_make_service_with_connect_info::<PerConnection>();
    let serving = axum::serve(server.listener, service)
        .with_graceful_shutdown(async move { graceful.cancelled().await });
    let (engine, driver, audit) = (server.engine, server.driver, server.audit);
    let ending = async {
        stop.cancelled().await;
        tracing::info!("stopping");
        engine.stop().await;
        driver.close().await;
        audit.stop().await;
        drained.cancel();
        // Sandboxes are ended first, which cuts their streams.
        tokio::time::sleep(DRAIN).await;
    };
    tokio::select! {
        result = serving => result.context("the listener failed"),
        () = ending => Ok(()),
    }
}

#[expect(clippy::print_stdout, reason = "the ready line and the key are what this command outputs")]
fn announce(server: &Server) {
    if server.key_is_new {
        println!("API key (shown once, kept for local use in the data directory): {}", server.key);
    }
    println!("hood is ready at {}; in your shell: eval \"$(hood env)\"", server.url);
    tracing::info!(url = %server.url, "ready");
}

/// Half of what is free: the other half is for templates, the store and everything else on the disk. An existing image
/// keeps its size.
fn layers_size(data_dir: &DataDir) -> Result<Bytes> {
    let stat = rustix::fs::statvfs(data_dir.path())?;
    Ok(Bytes(stat.f_bavail * stat.f_frsize / 2).max(SMALLEST_LAYERS))
}

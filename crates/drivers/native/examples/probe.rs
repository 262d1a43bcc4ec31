//! Builds one sandbox from a template directory, tells how long it took, and looks at it:
//! `cargo run -p hood-driver-native --example probe -- GUEST DATA_DIR LAYER...` (bottom layer first).

use std::time::{Duration, Instant};

use hood_driver_api::{Bytes, Driver, MilliCpu, Origin, Resources, RootFs, RootMode, SandboxId, Spec};
use hood_driver_native::{Config, NativeDriver};
use hood_wire::{Account, GuestConfig, GuestLimits, PROTOCOL};

fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) == Some(hood_driver_native::WARDEN_COMMAND) {
        hood_driver_native::run_warden();
        return Ok(());
    }
    hood_driver_native::enter_private_mounts()?;
    let guest = std::fs::read(&args[1])?.leak();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run(guest, &args[2], &args[3..]))
}

async fn run(guest: &'static [u8], data: &str, layers: &[String]) -> anyhow::Result<()> {
    let start = Instant::now();
    let config = Config { data_dir: data.into(), guest, joiner: &[], layers: Bytes::gib(20) };
    let driver = NativeDriver::start(&config)?;
    println!("driver up in {:?}; checks: {:?}", start.elapsed(), driver.checks());
    let (events, mut told) = tokio::sync::mpsc::channel(100);
    for round in 0..20u8 {
        let id = SandboxId::from_random([round; 20]);
        let spec = Spec {
            id: id.clone(),
            root: RootFs {
                key: "probe".into(),
                layers: layers.iter().map(Into::into).collect(),
                nursery: None,
                nested_user_namespaces: false,
            },
            root_mode: RootMode::Writable,
            origin: Origin::Empty,
            mounts: Vec::new(),
            resources: Resources {
                memory: Bytes::mib(512),
                cpu: MilliCpu::cores(1),
                pids: 256,
                disk: Bytes::gib(1),
            },
            guest: GuestConfig {
                protocol: PROTOCOL,
                sandbox_id: id.to_string(),
                template_id: "probe".into(),
                access_token: "token".into(),
                envs: std::collections::BTreeMap::new(),
                account: Account { user: "user".into(), workdir: None },
                limits: GuestLimits { memory_bytes: 512 << 20, cpu_milli: 1000, disk_bytes: 1 << 30 },
                nursery: None,
                filter: String::new(),
                sent_at_ns: 0,
            },
        };
        let start = Instant::now();
        driver.create(spec, events.clone()).await?;
        let up = start.elapsed();
        println!("{id} up in {up:?}: {:?}", driver.usage(&id).await?);
        drop(driver.connect(&id, hood_wire::ENVD_PORT).await?);
        let start = Instant::now();
        if round == 19 && std::env::var_os("HOLD").is_some() {
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        driver.destroy(&id).await?;
        println!("  down in {:?}", start.elapsed());
    }
    while let Ok(event) = told.try_recv() {
        println!("{event:?}");
    }
    Ok(())
}

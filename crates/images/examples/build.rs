//! Builds the shipped templates into a data directory, as root:
//! `cargo run -p hood-images --example build -- DATA_DIR [NAME…]`

use std::env;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use hood_images::{BuildError, BuildOptions, Manifest, Progress, Store, shipped};

struct Plain;

impl Progress for Plain {
    fn waiting(&self) {
        eprintln!("another build is running; waiting for it");
    }
    fn step(&self, n: usize, of: usize, title: &str) {
        eprintln!("[{n}/{of}] {title}");
    }
    fn cached(&self) {
        eprintln!("      cached");
    }
    fn line(&self, text: &str) {
        eprintln!("      {}", text.escape_debug());
    }
    fn layer(&self, bytes: u64, took: Duration) {
        eprintln!("      {} MiB in {:.1} s", bytes >> 20, took.as_secs_f64());
    }
    fn done(&self, manifest: &Manifest) {
        eprintln!("{}: {} layers, {} MiB", manifest.name, manifest.layers.len(), manifest.bytes >> 20);
    }
}

fn main() -> anyhow::Result<()> {
    let mut arguments = env::args().skip(1);
    let data_dir = PathBuf::from(arguments.next().context("the first argument is the data directory")?);
    let names: Vec<_> = arguments.collect();
    let store = Store::open(&data_dir)?;
    for recipe in shipped().into_iter().filter(|recipe| names.is_empty() || names.contains(&recipe.name)) {
        let began = Instant::now();
        let built = store.build(&recipe, &BuildOptions::default(), &Plain);
        if let Some(hint) = built.as_ref().err().and_then(BuildError::next_step) {
            eprintln!("hint: {hint}");
        }
        built.with_context(|| format!("building `{}`", recipe.name))?;
        eprintln!("{:.2} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

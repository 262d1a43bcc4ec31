//! What the gate costs, beside a direct connection on loopback in the same run: `cargo run --release -p hood-gate --example
//! cost`. Both ways run in this one process; the server they talk to is a thread of its own.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hood_driver_api::Outlets;
use hood_gate::audit::{Entry, Sink};
use hood_gate::{Authority, Config, Gate, Meant, NoSecrets, ResolverConfig, TlsConfig, Whose};
use hood_policy::{Base, Ceiling, Policy};

/// How many connections and requests are timed, after as many that are not.
const ROUNDS: usize = 2000;

/// What is sent one way to measure how much passes.
const BULK: usize = 4 << 30;

/// Entries go nowhere.
struct Nowhere;

impl Sink for Nowhere {
    fn record(&self, _: Entry) {}
}

fn main() {
    let echo = echo();
    let sink = sink();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let gate = {
        let _in = runtime.enter();
        gate()
    };
    let through = |to: SocketAddr| {
        let entrance = TcpListener::bind("127.0.0.1:0").expect("a port");
        entrance.set_nonblocking(true).expect("a socket");
        let address = entrance.local_addr().expect("bound");
        let _in = runtime.enter();
        let whose = Whose { sandbox: format!("to {to}"), team: "team".to_owned() };
        let policy = Policy { base: Base::Open, ..Policy::default() };
        let outlets = Outlets { tcp: vec![entrance], ..Outlets::default() };
        gate.open_for(whose, policy, outlets, Meant::For(to));
        address
    };
    let (echo_gate, sink_gate) = (through(echo), through(sink));
    println!("| what | direct | through the gate | added |\n|---|---|---|---|");
    row("new connection with one answer, p50", connecting(echo), connecting(echo_gate));
    row("request on an open connection, p50", asking(echo), asking(echo_gate));
    let (direct, gated) = (sending(sink), sending(sink_gate));
    println!("| plain bytes, one way | {:.2} GB/s | {:.2} GB/s | |", direct.0, gated.0);
    println!(
        "| processor time of this process for them | {:.2} s/GB | {:.2} s/GB | {:.2} s/GB |",
        direct.1,
        gated.1,
        gated.1 - direct.1
    );
}

fn row(what: &str, direct: Duration, gated: Duration) {
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    println!("| {what} | {:.3} ms | {:.3} ms | {:.3} ms |", ms(direct), ms(gated), ms(gated) - ms(direct));
}

/// A connection, a byte there and back, the end.
fn connecting(to: SocketAddr) -> Duration {
    median(|| {
        let mut stream = TcpStream::connect(to).expect("a connection");
        ask(&mut stream);
    })
}

fn asking(to: SocketAddr) -> Duration {
    let mut stream = TcpStream::connect(to).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    median(|| ask(&mut stream))
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(b"?").expect("sent");
    stream.read_exact(&mut [0]).expect("answered");
}

fn median(mut act: impl FnMut()) -> Duration {
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..2 * ROUNDS {
        let start = Instant::now();
        act();
        if round >= ROUNDS {
            times.push(start.elapsed());
        }
    }
    times.sort();
    times[ROUNDS / 2]
}

/// Gigabytes a second, and seconds of this process's time a gigabyte, sender and receiver included.
fn sending(to: SocketAddr) -> (f64, f64) {
    let mut stream = TcpStream::connect(to).expect("a connection");
    let block = vec![7; 1 << 20];
    let (start, used) = (Instant::now(), processor_time());
    for _ in 0..BULK / block.len() {
        stream.write_all(&block).expect("sent");
    }
    stream.shutdown(std::net::Shutdown::Write).expect("the end");
    stream.read_exact(&mut [0]).expect("all has arrived");
    let gigabytes = BULK as f64 / 1e9;
    (
        gigabytes / start.elapsed().as_secs_f64(),
        processor_time().saturating_sub(used).as_secs_f64() / gigabytes,
    )
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Says each byte back.
fn echo() -> SocketAddr {
    serve(|mut stream| {
        stream.set_nodelay(true).expect("a socket");
        let mut byte = [0];
        while stream.read_exact(&mut byte).is_ok() {
            stream.write_all(&byte).expect("sent");
        }
    })
}

/// Takes everything, and says one byte when all is there.
fn sink() -> SocketAddr {
    serve(|mut stream| {
        let mut block = vec![0; 1 << 20];
        while stream.read(&mut block).is_ok_and(|read| read > 0) {}
        stream.write_all(b"!").expect("sent");
    })
}

fn serve(act: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, act) = (listener.local_addr().expect("bound"), Arc::new(act));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let act = act.clone();
            std::thread::spawn(move || act(stream.expect("a connection")));
        }
    });
    address
}

fn gate() -> Gate {
    let ceiling = Ceiling { open: vec!["127.0.0.0/8".parse().expect("a range")], ..Ceiling::default() };
    let config = Config {
        profiles: BTreeMap::from([("open".to_owned(), ceiling)]),
        default_profile: "open".to_owned(),
        resolver: ResolverConfig { servers: vec![([127, 0, 0, 1], 9).into()], ..ResolverConfig::default() },
        tls: TlsConfig {
            authority: Authority::generate("cost").expect("an authority"),
            extra_roots: Vec::new(),
        },
        ingress: None,
    };
    Gate::start(config, Arc::new(Nowhere), Arc::new(NoSecrets)).expect("a gate")
}

//! The rules as the kernel applies them, in a network namespace of the test's own: needs root, and says so without.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use super::*;

/// Runs the test in a fresh namespace with the network of a sandbox; a thread is enough for that.
fn inside(test: impl FnOnce(Listeners) + Send + 'static) {
    let thread = std::thread::spawn(|| {
        match crate::sys::namespaces::unshare(libc::CLONE_NEWNET) {
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                eprintln!("skipped: not root");
                return;
            }
            other => other.expect("a namespace"),
        }
        let up = Network::shipped().expect("sound data").raise().expect("a network");
        up.settle().expect("addresses");
        if std::env::var_os("HOOD_SHOW_RULES").is_some() {
            std::process::Command::new("nft").args(["list", "ruleset"]).status().expect("nft is installed");
        }
        test(listen().expect("listeners"));
    });
    thread.join().expect("no panic");
}

fn at_once<T>(what: impl FnOnce() -> std::io::Result<T>) -> std::io::Result<T> {
    let began = Instant::now();
    let result = what();
    let took = began.elapsed();
    assert!(took < Duration::from_millis(500), "it took {took:?}: {:?}", result.err());
    result
}

#[test]
fn connections_to_anywhere_arrive_with_their_destination() {
    inside(|listeners| {
        for to in ["198.51.100.7:443", "10.0.0.1:1", "169.254.169.254:80", "192.0.0.1:1", "198.51.100.7:0"] {
            let to: SocketAddr = to.parse().expect("an address");
            let _stream = at_once(|| TcpStream::connect(to)).expect("a connection");
            let (taken, _) = listeners.outlets.tcp[0].accept().expect("it has arrived");
            let meant = rustix::net::sockopt::ip_original_dst(&taken).expect("a destination");
            assert_eq!(SocketAddr::from(meant), to);
        }
        for to in ["[2001:db8::7]:443", "[fd00:ec2::254]:80", "[64:ff9b::a00:1]:22"] {
            let to: SocketAddr = to.parse().expect("an address");
            let _stream = at_once(|| TcpStream::connect(to)).expect("a connection");
            let (taken, _) = listeners.outlets.tcp[1].accept().expect("it has arrived");
            let meant = rustix::net::sockopt::ipv6_original_dst(&taken).expect("a destination");
            assert_eq!(SocketAddr::from(meant), to);
        }
    });
}

#[test]
fn every_name_server_is_the_gate() {
    inside(|listeners| {
        for (i, server) in [(0, "192.0.0.1"), (0, "198.51.100.53"), (1, "2001:db8::53")] {
            let server: IpAddr = server.parse().expect("an address");
            let any = if server.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("a socket");
            socket.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
            socket.send_to(b"name?", (server, 53)).expect("sent");
            let mut buffer = [0; 16];
            let (n, from) = listeners.outlets.dns_udp[i].recv_from(&mut buffer).expect("it has arrived");
            assert_eq!(&buffer[..n], b"name?");
            listeners.outlets.dns_udp[i].send_to(b"address", from).expect("sent");
            let (n, from) = socket.recv_from(&mut buffer).expect("an answer");
            // From whom it was asked.
            assert_eq!((&buffer[..n], from), (&b"address"[..], SocketAddr::new(server, 53)));
            let _stream = at_once(|| TcpStream::connect((server, 53))).expect("a connection");
            listeners.outlets.dns_tcp[i].accept().expect("it has arrived");
        }
    });
}

#[test]
fn all_else_is_refused_at_once_and_told() {
    inside(|listeners| {
        let mut expected = Vec::new();
        for to in ["198.51.100.7:443", "224.0.0.251:5353", "192.0.0.1:2", "[2001:db8::7]:443"] {
            let to: SocketAddr = to.parse().expect("an address");
            let any = if to.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
            let socket = UdpSocket::bind(any).expect("a socket");
            let refused = at_once(|| socket.send_to(b"?", to)).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied, "{to}");
            expected.push(hood_driver_api::Refused { to: to.ip(), protocol: 17, port: Some(to.port()) });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let told = runtime.block_on(async {
            let (tell, mut told) = tokio::sync::mpsc::channel(REPORTS_WAITING);
            tokio::task::spawn(report(listeners.refused, tell));
            let mut all = Vec::new();
            while all.len() < expected.len() {
                let next = tokio::time::timeout(Duration::from_secs(5), told.recv());
                all.push(next.await.expect("in time").expect("a report"));
            }
            all
        });
        assert_eq!(told, expected);
    });
}

#[test]
fn without_its_gate_nothing_answers() {
    inside(|listeners| {
        drop(listeners);
        for to in ["198.51.100.7:443", "192.0.0.1:53", "[2001:db8::7]:443"] {
            let to: SocketAddr = to.parse().expect("an address");
            let refused = at_once(|| TcpStream::connect(to)).expect_err("refused");
            assert_eq!(refused.kind(), ErrorKind::ConnectionRefused, "{to}");
        }
    });
}

#[test]
fn what_is_inside_stays_inside() {
    inside(|listeners| {
        for address in ["127.0.0.1", "127.9.9.9", "192.0.0.2", "::1", "fd68:6f6f:64::2"] {
            let address: IpAddr = address.parse().expect("an address");
            let server = TcpListener::bind((address, 80)).expect("a low port");
            let client = at_once(|| TcpStream::connect((address, 80)));
            let mut client = client.unwrap_or_else(|error| panic!("{address}: {error}"));
            let (mut taken, _) = server.accept().expect("it has arrived");
            taken.write_all(b"here").expect("written");
            let mut said = [0; 4];
            client.read_exact(&mut said).expect("read");
            assert_eq!(&said, b"here");
        }
        // Between the sandbox's addresses, whichever the source.
        let server = TcpListener::bind("127.0.0.1:81").expect("a low port");
        let socket =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
        let socket = socket.expect("a socket");
        rustix::net::bind(&socket, &SocketAddr::from((OWN.0, 0))).expect("its own address");
        rustix::net::connect(&socket, &SocketAddr::from(([127, 0, 0, 1], 81))).expect("a connection");
        let (mut taken, _) = server.accept().expect("it has arrived");
        taken.write_all(b"here").expect("written");
        // None of it came to the gate, and its places are taken.
        let none = listeners.outlets.tcp[0].accept().expect_err("nothing has arrived");
        assert_eq!(none.kind(), ErrorKind::WouldBlock);
        let taken = TcpListener::bind((GATE.0, CONNECTIONS)).expect_err("taken");
        assert_eq!(taken.kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn connections_meet_their_ceiling() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    const CEILING: usize = crate::limits::CONNECTIONS as usize;
    let files = getrlimit(Resource::Nofile);
    let wanted = u64::try_from(CEILING + 200).expect("small");
    if files.maximum.is_some_and(|most| most < wanted) {
        eprintln!("skipped: this process may not open that many files");
        return;
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..files }).expect("below the hard limit");
    inside(|listeners| {
        let to = "198.51.100.7:443";
        let open: Vec<_> = (0..CEILING).map(|_| TcpStream::connect(to).expect("a connection")).collect();
        let refused = at_once(|| TcpStream::connect(to)).expect_err("one too many");
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        // What programs say to one another is not counted, and neither are questions.
        let server = TcpListener::bind((OWN.0, 80)).expect("a low port");
        TcpStream::connect((OWN.0, 80)).expect("a connection");
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.send_to(b"name?", "198.51.100.53:53").expect("sent");
        drop((open, server, listeners));
    });
}

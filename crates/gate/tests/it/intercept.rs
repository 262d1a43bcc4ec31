//! A host with a rule: from a lookup to the answer, with what is recorded of it.

use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use hood_driver_api::Outlets;
use hood_gate::audit::{Entry, Kind, Sink};
use hood_gate::{
    Authority, Config, Gate, Meant, ResolverConfig, RevealError, SecretValue, Secrets, TlsConfig, Whose,
};
use hood_policy::{Allow, Ceiling, HostRule, HttpRule, Policy, Range, Target, Transform};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::task::AbortOnDropHandle;

const HOST: &str = "api.example.com";
const SECRET: &str = "sk-live-0123456789";

#[derive(Default)]
struct Kept(Mutex<Vec<Entry>>);

impl Sink for Kept {
    fn record(&self, entry: Entry) {
        self.0.lock().expect("no test panics in it").push(entry);
    }
}

struct OneSecret;

#[async_trait]
impl Secrets for OneSecret {
    async fn reveal(&self, team: &str, name: &str) -> Result<Option<SecretValue>, RevealError> {
        Ok((team == "team" && name == "token").then(|| SecretValue::new(SECRET.to_owned())))
    }
}

/// Everything that a test needs.
struct Lab {
    _gate: Gate,
    kept: Arc<Kept>,
    gate_root: CertificateDer<'static>,
    entrance: SocketAddr,
    dns: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    _host: AbortOnDropHandle<()>,
}

impl Lab {
    async fn new() -> Self {
        let hosts_own = Authority::generate("host").expect("an authority");
        let heads = Arc::default();
        let (host, serving) = serve(&hosts_own, Arc::clone(&heads)).await;
        let authority = Authority::generate("gate").expect("an authority");
        let gate_root = authority.certificate().clone();
        let loopback: Range = "127.0.0.0/8".parse().expect("a range");
        let ceiling = Ceiling { open: vec![loopback], ..Ceiling::default() };
        let config = Config {
            profiles: BTreeMap::from([("open".to_owned(), ceiling)]),
            default_profile: "open".to_owned(),
            resolver: ResolverConfig {
                servers: vec!["127.0.0.1:9".parse().expect("an address")],
                hosts: BTreeMap::from([(HOST.parse().expect("a name"), vec![host.ip()])]),
                ingress: None,
            },
            tls: TlsConfig { authority, extra_roots: vec![hosts_own.certificate().clone()] },
            ingress: None,
        };
        let kept = Arc::new(Kept::default());
        let gate = Gate::start(config, kept.clone(), Arc::new(OneSecret)).expect("a gate");
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let dns = UdpSocket::bind("127.0.0.1:0").expect("a port");
        tcp.set_nonblocking(true).expect("a socket");
        dns.set_nonblocking(true).expect("a socket");
        let entrance = tcp.local_addr().expect("bound");
        let asked = dns.local_addr().expect("bound");
        let outlets = Outlets { tcp: vec![tcp], dns_udp: vec![dns], ..Outlets::default() };
        let whose = Whose { sandbox: "sandbox".to_owned(), team: "team".to_owned() };
        gate.open_for(whose, policy(), outlets, Meant::For(host));
        Self { _gate: gate, kept, gate_root, entrance, dns: asked, heads, _host: serving }
    }

    /// Looks the host up, as every program does first.
    async fn look_up(&self) {
        let socket = tokio::net::UdpSocket::bind("127.0.0.1:0").await.expect("a port");
        let mut question = vec![0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        for label in HOST.split('.') {
            question.push(label.len() as u8);
            question.extend_from_slice(label.as_bytes());
        }
        question.extend_from_slice(&[0, 0, 1, 0, 1]);
        socket.send_to(&question, self.dns).await.expect("sent");
        let mut answer = [0; 512];
        let waiting = socket.recv_from(&mut answer);
        let (read, _) =
            tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("in time").expect("an answer");
        assert!(answer[..read].ends_with(&[127, 0, 0, 1]), "{:?}", &answer[..read]);
    }

    /// One request on a connection of its own; the whole answer.
    async fn ask(&self, request: &str) -> std::io::Result<String> {
        let mut roots = RootCertStore::empty();
        roots.add(self.gate_root.clone()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("defaults")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.entrance).await?;
        let name = ServerName::try_from(HOST).expect("a name");
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        let head = format!("{request} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

fn policy() -> Policy {
    let name = HOST.parse().expect("a pattern");
    let headers = BTreeMap::from([("Authorization".to_owned(), "Bearer ${e2b.secrets.token}".to_owned())]);
    let requests = vec![HttpRule { methods: vec!["GET".to_owned()], path: "/v1".to_owned() }];
    Policy {
        allow: vec![Allow { to: Target::Name(name), ports: Vec::new() }],
        hosts: vec![HostRule {
            host: HOST.parse().expect("a pattern"),
            transform: Transform { headers },
            requests,
        }],
        ..Policy::default()
    }
}

/// A host that answers with the head that it got.
async fn serve(authority: &Authority, heads: Arc<Mutex<Vec<String>>>) -> (SocketAddr, AbortOnDropHandle<()>) {
    let leaf = authority.issue(&[HOST.to_owned()], Duration::from_secs(60)).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("defaults")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(rustls::sign::SingleCertAndKey::from(
            Arc::try_unwrap(leaf).expect("nobody else has it"),
        )));
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("bound");
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { break };
                head.push(byte);
            }
            let head = String::from_utf8(head).expect("text");
            let answer = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{head}",
                head.len()
            );
            heads.lock().expect("no test panics in it").push(head);
            // Whoever asked may be gone.
            stream.write_all(answer.as_bytes()).await.ok();
            stream.shutdown().await.ok();
        }
    });
    (address, AbortOnDropHandle::new(serving))
}

#[tokio::test]
async fn a_secret_is_put_in_at_the_gate_and_stays_there() {
    let lab = Lab::new().await;
    lab.look_up().await;
    let answer = lab.ask("GET /v1/models?q=1").await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let sent = lab.heads.lock().expect("no panic").concat();
    assert!(sent.to_ascii_lowercase().contains(&format!("authorization: bearer {SECRET}")), "{sent}");
    assert!(!answer.contains(SECRET) && answer.contains("**********"), "an echo is blotted out: {answer}");

    let refused = lab.ask("POST /v1/models").await.expect("a page");
    assert!(
        refused.starts_with("HTTP/1.1 403") && refused.contains("do not allow POST /v1/models"),
        "{refused}"
    );

    let entries = lab.kept.0.lock().expect("no panic").clone();
    let seen = |kind: Kind, method: &str| {
        entries.iter().any(|entry| {
            entry.kind == kind
                && entry.method.as_deref() == Some(method)
                && entry.path.as_deref() == Some("/v1/models")
                && entry.name.as_deref() == Some(HOST)
        })
    };
    assert!(seen(Kind::Allowed, "GET") && seen(Kind::Denied, "POST"), "{entries:#?}");
    assert!(!format!("{entries:?}").contains(SECRET), "nothing secret is recorded");
}

#[tokio::test]
async fn a_host_that_was_not_looked_up_gets_no_connection_and_no_secret() {
    let lab = Lab::new().await;
    lab.ask("GET /v1/models").await.expect_err("no handshake");
    assert!(lab.heads.lock().expect("no panic").is_empty());
}

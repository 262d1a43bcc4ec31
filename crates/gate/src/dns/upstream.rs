//! Questions to name servers, asked by us: over UDP, and over TCP when an answer does not fit.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use hickory_proto::op::{Edns, Message, MessageType, Query, ResponseCode};
use hickory_proto::rr::{Name as Labels, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::limits::{DATAGRAM, UPSTREAM, UPSTREAM_TRY};

/// An answer, and what it took.
pub(super) struct Heard {
    pub(super) message: Message,
    pub(super) bytes_out: u64,
    pub(super) bytes_in: u64,
}

/// Asks the servers in turn, twice at most, until one gives an answer that settles it.
///
/// The name is sent as it is given, in lower case, and nothing of the program's own message with it. That the answer
/// is from the server is made likely by a fresh port and a random number, as usual.
pub(super) async fn ask(servers: &[SocketAddr], name: &Labels, kind: RecordType) -> io::Result<Heard> {
    let rounds = async {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "no name server to ask");
        for server in servers.iter().chain(servers) {
            match timeout(UPSTREAM_TRY, ask_one(*server, name, kind)).await {
                Ok(Ok(heard)) if settles(&heard.message) => return Ok(heard),
                Ok(Ok(heard)) => {
                    let code = heard.message.metadata.response_code;
                    last = io::Error::other(format!("{server} says {code}"));
                }
                Ok(Err(error)) => last = error,
                Err(_) => last = io::Error::new(io::ErrorKind::TimedOut, format!("{server} does not answer")),
            }
        }
        Err(last)
    };
    timeout(UPSTREAM, rounds).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

fn settles(message: &Message) -> bool {
    matches!(message.metadata.response_code, ResponseCode::NoError | ResponseCode::NXDomain)
}

async fn ask_one(server: SocketAddr, name: &Labels, kind: RecordType) -> io::Result<Heard> {
    let mut question = Message::query();
    question.metadata.recursion_desired = true;
    question.add_query(Query::query(name.clone(), kind));
    let mut edns = Edns::new();
    edns.set_max_payload(DATAGRAM as u16).set_version(0);
    question.set_edns(edns);
    let bytes = question.to_vec().map_err(io::Error::other)?;
    let heard = by_datagram(server, &question, &bytes).await?;
    if !heard.message.metadata.truncation {
        return Ok(heard);
    }
    let longer = by_stream(server, &question, &bytes).await?;
    Ok(Heard {
        bytes_out: longer.bytes_out + heard.bytes_out,
        bytes_in: longer.bytes_in + heard.bytes_in,
        ..longer
    })
}

async fn by_datagram(server: SocketAddr, question: &Message, bytes: &[u8]) -> io::Result<Heard> {
    let any: IpAddr =
        if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    // The kernel drops what comes from anybody else.
    socket.connect(server).await?;
    socket.send(bytes).await?;
    let mut buffer = vec![0; DATAGRAM];
    loop {
        let length = socket.recv(&mut buffer).await?;
        // What does not fit the question may be forged: the answer may still come.
        if let Some(message) = answer_to(question, &buffer[..length]) {
            return Ok(Heard { message, bytes_out: bytes.len() as u64, bytes_in: length as u64 });
        }
    }
}

async fn by_stream(server: SocketAddr, question: &Message, bytes: &[u8]) -> io::Result<Heard> {
    let mut stream = TcpStream::connect(server).await?;
    let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes(), bytes].concat()).await?;
    let length = stream.read_u16().await?;
    let mut buffer = vec![0; length.into()];
    stream.read_exact(&mut buffer).await?;
    let message = answer_to(question, &buffer).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{server} answers something else"))
    })?;
    Ok(Heard { message, bytes_out: bytes.len() as u64 + 2, bytes_in: buffer.len() as u64 + 2 })
}

/// The message, if it is an answer to this question.
fn answer_to(question: &Message, bytes: &[u8]) -> Option<Message> {
    let message = Message::from_vec(bytes).ok()?;
    let fits = message.metadata.message_type == MessageType::Response
        && message.metadata.id == question.metadata.id
        && message.queries == question.queries;
    fits.then_some(message)
}

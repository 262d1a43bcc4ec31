//! A client of SOCKS5 (RFC 1928) with user name and password (RFC 1929).

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;
const NONE_FITS: u8 = 0xff;

/// Has the proxy connect to an address. What follows on the stream is the connection.
pub(crate) async fn connect(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    login: Option<(&str, &str)>,
    to: SocketAddr,
) -> io::Result<()> {
    let methods: &[u8] =
        if login.is_some() { &[VERSION, 2, NO_LOGIN, LOGIN] } else { &[VERSION, 1, NO_LOGIN] };
    stream.write_all(methods).await?;
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await?;
    match (chosen, login) {
        ([VERSION, NO_LOGIN], _) => {}
        ([VERSION, LOGIN], Some((user, password))) => log_in(stream, user, password).await?,
        ([VERSION, NONE_FITS | LOGIN], _) => return refused("the proxy wants another login"),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the proxy does not speak SOCKS5")),
    }
    let mut request = vec![VERSION, 1, 0];
    match to {
        SocketAddr::V4(to) => {
            request.push(1);
            request.extend(to.ip().octets());
        }
        SocketAddr::V6(to) => {
            request.push(4);
            request.extend(to.ip().octets());
        }
    }
    request.extend(to.port().to_be_bytes());
    stream.write_all(&request).await?;
    answer(stream).await
}

async fn log_in(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    user: &str,
    password: &str,
) -> io::Result<()> {
    let mut message = vec![1];
    for part in [user, password] {
        let length = u8::try_from(part.len()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "a login at the proxy is longer than 255 bytes")
        })?;
        message.push(length);
        message.extend(part.as_bytes());
    }
    stream.write_all(&message).await?;
    let mut status = [0; 2];
    stream.read_exact(&mut status).await?;
    if status[1] == 0 { Ok(()) } else { refused("the proxy refuses the login") }
}

async fn answer(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [_, status, _, kind] = head;
    if status != 0 {
        return refused("the proxy does not connect");
    }
    // The address from which the proxy connects: read past.
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(stream.read_u8().await?),
        _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "the proxy does not speak SOCKS5")),
    };
    let mut rest = vec![0; length + 2];
    stream.read_exact(&mut rest).await.map(drop)
}

fn refused(why: &'static str) -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::ConnectionRefused, why))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn talk(login: Option<(&str, &str)>, answers: &[u8]) -> (io::Result<()>, Vec<u8>) {
        let (mut ours, mut theirs) = tokio::io::duplex(1024);
        theirs.write_all(answers).await.expect("room");
        let result = connect(&mut ours, login, "93.184.216.34:443".parse().expect("one")).await;
        drop(ours);
        let mut said = Vec::new();
        theirs.read_to_end(&mut said).await.expect("all");
        (result, said)
    }

    #[tokio::test]
    async fn it_asks_for_the_address() {
        let (result, said) = talk(None, &[5, 0, 5, 0, 0, 1, 9, 9, 9, 9, 0, 1]).await;
        result.expect("connected");
        assert_eq!(said, [5, 1, 0, 5, 1, 0, 1, 93, 184, 216, 34, 1, 187]);
    }

    #[tokio::test]
    async fn it_logs_in_when_asked() {
        let (result, said) = talk(Some(("u", "pw")), &[5, 2, 1, 0, 5, 0, 0, 3, 1, b'x', 0, 1]).await;
        result.expect("connected");
        assert_eq!(said.get(4..10), Some(&[1, 1, b'u', 2, b'p', b'w'][..]));
    }

    #[tokio::test]
    async fn refusals_are_told() {
        for answers in [&[5, 0xff][..], &[5, 2, 1, 1], &[5, 0, 5, 5, 0, 1], &[4, 0]] {
            assert!(talk(Some(("u", "p")), answers).await.0.is_err(), "{answers:?}");
        }
    }
}

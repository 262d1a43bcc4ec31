//! The sockets in a sandbox at which questions arrive.

use std::io;
use std::net::{TcpListener as StdListener, UdpSocket as StdSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hickory_proto::op::ResponseCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::desk::{Asked, Desk};
use super::question::{Misfit, Question, Way};
use super::rate::Rate;
use crate::limits::{QUESTION, QUESTION_PAUSE, QUESTION_STREAMS, QUESTIONS_OPEN};

/// An error of a socket that does not go away must not keep a core busy.
const AFTER_ERROR: Duration = Duration::from_millis(100);

/// How often it is recorded that there were too many.
const TOO_MANY_EVERY: Duration = Duration::from_secs(1);

/// A desk and what bounds it.
struct Counter {
    desk: Desk,
    open: Arc<Semaphore>,
    rate: Mutex<(Rate, Option<Instant>)>,
}

impl Desk {
    /// Answers at these sockets until it is dropped. The addresses that programs have sent to are the kernel's
    /// business: it sends answers back from them.
    pub(crate) async fn serve(self, datagrams: Vec<StdSocket>, streams: Vec<StdListener>) -> io::Result<()> {
        let rate = Mutex::new((Rate::new(Instant::now()), None));
        let counter = Arc::new(Counter { desk: self, open: Arc::new(Semaphore::new(QUESTIONS_OPEN)), rate });
        let mut tasks = JoinSet::new();
        for socket in datagrams {
            tasks.spawn(counter.clone().serve_datagrams(UdpSocket::from_std(socket)?));
        }
        for listener in streams {
            tasks.spawn(counter.clone().serve_streams(TcpListener::from_std(listener)?));
        }
        while let Some(ended) = tasks.join_next().await {
            ended.map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl Counter {
    async fn serve_datagrams(self: Arc<Self>, socket: UdpSocket) {
        let socket = Arc::new(socket);
        let mut answers = JoinSet::new();
        // One more, so that what is too long is seen to be.
        let mut buffer = vec![0; QUESTION + 1];
        loop {
            while answers.try_join_next().is_some() {}
            let (length, from) = match socket.recv_from(&mut buffer).await {
                Ok(received) => received,
                Err(error) => {
                    tracing::debug!(%error, "no question received");
                    tokio::time::sleep(AFTER_ERROR).await;
                    continue;
                }
            };
            if length > QUESTION {
                continue;
            }
            let question = buffer[..length].to_vec();
            let Some(permit) = self.admit() else {
                if let Some(answer) = refusal(&question, Way::Datagram) {
                    send(&socket, &answer, from).await;
                }
                continue;
            };
            let (this, socket) = (self.clone(), socket.clone());
            answers.spawn(async move {
                let _permit = permit;
                if let Some(answer) = this.desk.answer(&question, Way::Datagram).await {
                    send(&socket, &answer, from).await;
                }
            });
        }
    }

    async fn serve_streams(self: Arc<Self>, listener: TcpListener) {
        let mut streams = JoinSet::new();
        loop {
            while streams.try_join_next().is_some() {}
            match listener.accept().await {
                // Dropped: closed at once.
                Ok((stream, _)) if streams.len() >= QUESTION_STREAMS => drop(stream),
                Ok((stream, _)) => {
                    let this = self.clone();
                    streams.spawn(async move {
                        if let Err(error) = this.serve_stream(stream).await {
                            tracing::debug!(%error, "a stream of questions ended");
                        }
                    });
                }
                Err(error) => {
                    tracing::debug!(%error, "no stream accepted");
                    tokio::time::sleep(AFTER_ERROR).await;
                }
            }
        }
    }

    /// One question after the other, each behind its length (RFC 7766).
    async fn serve_stream(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut buffer = vec![0; QUESTION];
        loop {
            let read = async {
                let length = usize::from(stream.read_u16().await?);
                let question = buffer.get_mut(..length).ok_or(io::ErrorKind::InvalidData)?;
                stream.read_exact(question).await?;
                io::Result::Ok(length)
            };
            let length = timeout(QUESTION_PAUSE, read).await??;
            let question = &buffer[..length];
            let answer = match self.admit() {
                Some(_permit) => self.desk.answer(question, Way::Stream).await,
                None => refusal(question, Way::Stream),
            };
            let Some(answer) = answer else { return Err(io::ErrorKind::InvalidData.into()) };
            let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
            let framed = [&length.to_be_bytes(), answer.as_slice()].concat();
            timeout(QUESTION_PAUSE, stream.write_all(&framed)).await??;
        }
    }

    /// Leave to ask, or `None` where there are too many questions.
    fn admit(&self) -> Option<OwnedSemaphorePermit> {
        let now = Instant::now();
        let mut rate = self.rate.lock().unwrap_or_else(PoisonError::into_inner);
        let permit = if rate.0.take(now) { self.open.clone().try_acquire_owned().ok() } else { None };
        let told = rate.1.is_some_and(|last| now.saturating_duration_since(last) < TOO_MANY_EVERY);
        if permit.is_none() && !told {
            rate.1 = Some(now);
            (self.desk.asked)(Asked::too_many());
        }
        permit
    }
}

/// The answer where there are too many. It repeats the question, or programs would go on waiting.
fn refusal(bytes: &[u8], way: Way) -> Option<Vec<u8>> {
    match Question::read(bytes) {
        Ok(question) => Some(question.prohibited(ResponseCode::Refused, way)),
        Err(Misfit::Answer(answer)) => Some(answer),
        Err(Misfit::Silence) => None,
    }
}

async fn send(socket: &UdpSocket, answer: &[u8], to: std::net::SocketAddr) {
    // Whoever asked may be gone.
    if let Err(error) = socket.send_to(answer, to).await {
        tracing::debug!(%error, "an answer could not be sent");
    }
}

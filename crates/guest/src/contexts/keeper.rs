//! The task that owns a context's kernel.
//!
//! Cells run one after another. The kernel is started by the first of them, or beforehand for a context that somebody
//! made; it is ended by a restart, by its own death, or because a cell ignored its interrupts. Then the next cell starts
//! a fresh one.

use std::future::pending;

use hood_wire::Level;
use tokio::sync::{oneshot, watch};

use super::cell::{Cell, Next};
use super::context::{Inbox, Ticket, Warm};
use super::death::{self, End, Memory};
use super::kernel::{Event, Kernel};
use super::outbox::Source;
use super::protocol::{Answer, Message, Order};
use super::start::{StartError, start};
use super::wire::CellError;
use crate::app::App;
use crate::limits::{INTERRUPTS, MAX_LOG_LINE};

/// What a request that comes too late is told.
const CELL_IS_OVER: &str = "the cell that asked is over";

/// The owner of a context's kernel.
pub(super) struct Keeper {
    app: App,
    id: String,
    language: String,
    cwd: String,
    inbox: Inbox,
    alive: watch::Sender<bool>,
    kernel: Option<Kernel>,
    /// State that was lost while nobody could be told.
    lost: Option<String>,
    dropped: Dropped,
}

/// What could be given to nobody.
#[derive(Debug, Default)]
struct Dropped {
    messages: u64,
    bytes: u64,
}

/// How a cell's turn ended.
enum Over {
    Done,
    Died(End),
    Abandoned,
    Restart(oneshot::Sender<()>),
}

impl Keeper {
    pub(super) fn new(
        app: App,
        [id, language, cwd]: [&str; 3],
        inbox: Inbox,
        alive: watch::Sender<bool>,
    ) -> Self {
        Self {
            app,
            id: id.to_owned(),
            language: language.to_owned(),
            cwd: cwd.to_owned(),
            inbox,
            alive,
            kernel: None,
            lost: None,
            dropped: Dropped::default(),
        }
    }

    /// Until the context is gone.
    pub(super) async fn run(mut self, warm: Warm) {
        if warm == Warm::Now {
            self.warm_up().await;
        }
        loop {
            tokio::select! {
                biased;
                Some(done) = self.inbox.restarts.recv() => {
                    self.restart(done);
                    self.warm_up().await;
                }
                ticket = self.inbox.cells.recv() => match ticket {
                    Some(ticket) => self.turn(ticket).await,
                    None => return,
                },
                event = next(&mut self.kernel) => self.idle_event(event),
            }
        }
    }

    /// A failure is told to the first cell, which tries again.
    async fn warm_up(&mut self) {
        if let Err(error) = self.ensure_kernel().await {
            self.log(Level::Warn, error.to_string());
        }
    }

    async fn ensure_kernel(&mut self) -> Result<(), StartError> {
        while self.kernel.is_none() {
            tokio::select! {
                biased;
                Some(done) = self.inbox.restarts.recv() => self.restart(done),
                started = start(&self.app, &self.language, &self.cwd) => {
                    self.kernel = Some(started?);
                    self.alive.send_replace(true);
                    self.log(Level::Info, format!("the {} kernel is ready", self.language));
                }
            }
        }
        Ok(())
    }

    async fn turn(&mut self, mut ticket: Ticket) {
        let cell = ticket.cell.clone();
        if cell.outbox.is_gone() {
            return;
        }
        if let Err(error) = self.ensure_kernel().await {
            self.log(Level::Warn, error.to_string());
            ticket.refuse(error);
            cell.finish();
            return;
        }
        ticket.open();
        if let Some(lost) = self.lost.take() {
            cell.print(Source::Stderr, format!("[hood] {lost}\n"));
        }
        match self.run_cell(&cell).await {
            Over::Done => cell.finish(),
            Over::Died(end) => {
                let error = self.died(end);
                self.log(Level::Error, format!("{}: {}", error.name, error.value));
                cell.fail(error);
                cell.finish();
            }
            Over::Abandoned => {
                // Nobody reads it; its requests must not look answerable.
                cell.finish();
                self.interrupt(&cell).await;
            }
            Over::Restart(done) => {
                let value = "the context was restarted while this cell ran".to_owned();
                cell.fail(CellError::new("ContextRestarting", value));
                cell.finish();
                self.restart(done);
            }
        }
        self.report_dropped();
    }

    async fn run_cell(&mut self, cell: &Cell) -> Over {
        let away = self.app.contexts.settings().away;
        if let Some(kernel) = &mut self.kernel {
            kernel.watch_memory();
            kernel.send(&Order::Execute { id: &cell.id, code: &cell.code, env: &cell.env });
        }
        loop {
            let Some(kernel) = &mut self.kernel else { return Over::Done };
            let room = cell.outbox.has_room();
            let event = tokio::select! {
                // Commands and departures before output, which may be endless.
                biased;
                Some(done) = self.inbox.restarts.recv() => return Over::Restart(done),
                () = cell.outbox.abandoned(away) => return Over::Abandoned,
                (request, answer) = cell.next_answer() => {
                    kernel.send(&Order::Reply { id: &cell.id, request: &request, answer: &answer });
                    continue;
                }
                () = cell.outbox.room(), if !room => continue,
                event = kernel.next(), if room => event,
            };
            match event {
                Event::Printed(source, text) => cell.print(source, text),
                Event::Bad(bad) => {
                    self.dropped.messages += 1;
                    cell.print(Source::Stderr, format!("[hood] {bad}\n"));
                }
                Event::Said(message) if message.cell().is_some_and(|id| id != cell.id) => {
                    self.dropped.messages += 1;
                    refuse(kernel, message);
                }
                Event::Said(Message::Fault { message }) if cell.has_started() => self.complaint(message),
                Event::Said(message) => match cell.take(message) {
                    Next::Go => {}
                    Next::Reply(request, answer) => {
                        kernel.send(&Order::Reply { id: &cell.id, request: &request, answer: &answer });
                    }
                    Next::Done => {
                        for (source, text) in kernel.finish_text() {
                            cell.print(source, text);
                        }
                        return Over::Done;
                    }
                },
                Event::Ended(end) => return Over::Died(end),
            }
        }
    }

    /// Makes an abandoned cell end, so that the next one can run: SIGINT, and again, and then the whole kernel.
    async fn interrupt(&mut self, cell: &Cell) {
        let grace = self.app.contexts.settings().grace;
        for _ in 0..INTERRUPTS {
            let Some(kernel) = &mut self.kernel else { return };
            if let Err(error) = kernel.interrupt() {
                let text = format!("context {}: cannot interrupt the kernel: {error}", self.id);
                self.app.journal.log(Level::Warn, "context", text);
            }
            tokio::select! {
                biased;
                Some(done) = self.inbox.restarts.recv() => return self.restart(done),
                over = tokio::time::timeout(grace, until_done(kernel, &cell.id)) => match over {
                    Ok(None) => return,
                    Ok(Some(end)) => return self.died_unseen(end),
                    Err(_) => {}
                },
            }
        }
        let lost = format!(
            "the client of an earlier cell left, and the cell ignored its interrupts for {} s: the {} kernel was ended and its variables are lost",
            (grace * INTERRUPTS).as_secs(),
            self.language
        );
        self.log(Level::Warn, lost.clone());
        self.lost = Some(lost);
        self.discard();
    }

    fn idle_event(&mut self, event: Event) {
        match event {
            Event::Printed(_, text) => self.dropped.bytes += text.len() as u64,
            Event::Bad(_) => self.dropped.messages += 1,
            Event::Said(Message::Fault { message }) => self.complaint(message),
            Event::Said(message) => {
                self.dropped.messages += 1;
                if let Some(kernel) = &mut self.kernel {
                    refuse(kernel, message);
                }
            }
            Event::Ended(end) => self.died_unseen(end),
        }
    }

    /// The kernel died, and no cell is there to say so.
    fn died_unseen(&mut self, end: End) {
        let error = self.died(end);
        self.log(Level::Error, format!("{}: {}", error.name, error.value));
        self.lost = Some(format!("{}: {}", error.name, error.value));
    }

    /// One for each cell: code can make its kernel complain without end.
    fn complaint(&mut self, message: String) {
        if self.dropped.messages == 0 {
            self.log(Level::Warn, format!("the kernel complains: {message}"));
        }
        self.dropped.messages += 1;
    }

    fn died(&mut self, end: End) -> CellError {
        let memory = match &self.kernel {
            Some(kernel) if kernel.is_out_of_memory() => {
                let limit = self.app.host.memory_bytes().unwrap_or(self.app.config.limits.memory_bytes);
                Memory::RanOut { limit }
            }
            _ => Memory::Enough,
        };
        self.discard();
        death::explain(&self.language, end, memory)
    }

    fn restart(&mut self, done: oneshot::Sender<()>) {
        self.discard();
        self.lost = None;
        // Whoever asked may have hung up meanwhile.
        done.send(()).ok();
    }

    fn discard(&mut self) {
        self.kernel = None;
        self.alive.send_replace(false);
    }

    fn report_dropped(&mut self) {
        let Dropped { messages, bytes } = std::mem::take(&mut self.dropped);
        if messages > 0 || bytes > 0 {
            let text = format!(
                "{messages} messages and {bytes} bytes of output belonged to no cell and were dropped"
            );
            self.log(Level::Debug, text);
        }
    }

    fn log(&self, level: Level, mut message: String) {
        let mut end = message.len().min(MAX_LOG_LINE);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        message.truncate(end);
        self.app.journal.log(level, "context", format!("context {}: {message}", self.id));
    }
}

async fn next(kernel: &mut Option<Kernel>) -> Event {
    match kernel {
        Some(kernel) => kernel.next().await,
        None => pending().await,
    }
}

/// Drops everything until the cell is over (`None`) or the kernel is.
async fn until_done(kernel: &mut Kernel, cell: &str) -> Option<End> {
    loop {
        match kernel.next().await {
            Event::Said(Message::Done { id }) if id == cell => return None,
            Event::Said(message) => refuse(kernel, message),
            Event::Ended(end) => return Some(end),
            Event::Printed(..) | Event::Bad(_) => {}
        }
    }
}

/// Lets whoever asks without a cell go on, instead of waiting for ever.
fn refuse(kernel: &mut Kernel, message: Message) {
    if let Message::Request { id, request, .. } = message {
        let answer = Answer::Error(CELL_IS_OVER.to_owned());
        kernel.send(&Order::Reply { id: &id, request: &request, answer: &answer });
    }
}

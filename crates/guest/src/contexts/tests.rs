//! The routes with a fake kernel: what a client sees, whatever the kernel does.

use std::time::Duration;

use axum::Router;
use axum::body::{Body, BodyDataStream};
use axum::response::Response;
use futures_util::StreamExt;
use http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::{Contexts, Settings};
use crate::reaper::Reaper;
use crate::testing::{TOKEN, test_app_with};

const FAKE_KERNEL: &str = include_str!("tests/fake_kernel.py");

/// Longest wait for anything in these tests.
const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    router: Router,
    _dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let kernel = dir.path().join("kernel.py");
        std::fs::write(&kernel, FAKE_KERNEL).expect("written");
        let manifest = json!({
            "python": {"argv": ["python3", kernel], "env": {"FROM_MANIFEST": "yes"}, "aliases": ["py"]},
            "broken": {"argv": ["sh", "-c", "echo no such library >&2; exit 7"]},
            "silent": {"argv": ["sleep", "1000"]},
        });
        let path = dir.path().join("kernels.json");
        std::fs::write(&path, manifest.to_string()).expect("written");
        let mut settings =
            Settings { manifest: path, grace: Duration::from_millis(500), ..Settings::default() };
        change(&mut settings);
        let app = test_app_with(Contexts::new(settings));
        let children = Reaper::subscribe().expect("signals can be watched");
        // Ends with the test's runtime.
        tokio::spawn(app.reaper.clone().run(children));
        Self { router: crate::http::code(app), _dir: dir }
    }

    async fn call(&self, method: &str, path: &str, body: Value) -> Response {
        let request = http::Request::builder().method(method).uri(path).header("x-access-token", TOKEN);
        let request = request.body(Body::from(body.to_string())).expect("a request");
        within(self.router.clone().oneshot(request)).await.expect("routers do not fail")
    }

    async fn start(&self, body: Value) -> Cell {
        let response = self.call("POST", "/execute", body).await;
        assert_eq!(response.status(), StatusCode::OK);
        Cell::of(response)
    }

    /// Runs `code` in the default context: all lines, keepalives left out.
    async fn run(&self, code: &str) -> Vec<Value> {
        self.start(json!({"code": code, "context_id": null, "language": null, "env_vars": null}))
            .await
            .rest()
            .await
    }

    async fn refused(&self, method: &str, path: &str, body: Value) -> (StatusCode, String) {
        text(self.call(method, path, body).await).await
    }
}

/// The lines of one execution as they arrive.
struct Cell {
    body: BodyDataStream,
    buffer: Vec<u8>,
}

impl Cell {
    fn of(response: Response) -> Self {
        Self { body: response.into_body().into_data_stream(), buffer: Vec::new() }
    }

    async fn line(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.buffer.iter().position(|&b| b == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).expect("a JSON line"));
            }
            match within(self.body.next()).await {
                Some(bytes) => self.buffer.extend_from_slice(&bytes.expect("a body does not fail")),
                None => return None,
            }
        }
    }

    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let line = self.line().await.unwrap_or_else(|| panic!("no {kind} before the end"));
            if line["type"] == kind {
                return line;
            }
        }
    }

    async fn rest(mut self) -> Vec<Value> {
        let mut lines = Vec::new();
        while let Some(line) = self.line().await {
            if line["type"] != "keepalive" {
                lines.push(line);
            }
        }
        assert_eq!(lines.last().expect("lines")["type"], "end_of_execution");
        lines
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

async fn text(response: Response) -> (StatusCode, String) {
    let status = response.status();
    let bytes = within(response.into_body().collect()).await.expect("a body").to_bytes();
    (status, String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

fn stdout(lines: &[Value]) -> String {
    lines.iter().filter(|l| l["type"] == "stdout").map(|l| l["text"].as_str().expect("text")).collect()
}

fn error(lines: &[Value]) -> &Value {
    lines.iter().find(|l| l["type"] == "error").expect("an error")
}

fn kinds(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|l| l["type"].as_str().expect("a type")).collect()
}

#[tokio::test]
async fn output_and_results_come_in_the_order_of_the_code() {
    let bench = Bench::new();
    let code = "for i in range(50):\n print(i)\n display(**{'text/plain': repr(str(i))})\n";
    let lines = bench.run(code).await;
    assert_eq!(lines[0], json!({"type": "number_of_executions", "execution_count": 1}));
    for i in 0..50 {
        assert_eq!(lines[1 + 2 * i]["text"], format!("{i}\n"));
        assert_eq!(
            lines[2 + 2 * i],
            json!({"type": "result", "text": i.to_string(), "extra": {}, "is_main_result": false})
        );
    }
    assert_eq!(lines.len(), 102);
}

#[tokio::test]
async fn state_is_kept_and_an_exception_is_told() {
    let bench = Bench::new();
    bench.run("x = 41").await;
    let lines = bench.run("print(x + 1)\n1/0").await;
    assert_eq!(kinds(&lines), ["number_of_executions", "stdout", "error", "end_of_execution"]);
    assert_eq!(stdout(&lines), "42\n");
    let expected =
        json!({"type": "error", "name": "ZeroDivisionError", "value": "division by zero", "traceback": "tb"});
    assert_eq!(*error(&lines), expected);
}

#[tokio::test]
async fn environment_is_out_of_band_and_ends_with_the_cell() {
    let bench = Bench::new();
    let code =
        "import os; print(os.environ.get('A'), os.environ['FROM_MANIFEST'], os.environ['E2B_SANDBOX'])";
    let cell = bench.start(json!({"code": code, "env_vars": {"A": "\"quoted\"\nsecond"}})).await;
    assert_eq!(stdout(&cell.rest().await), "\"quoted\"\nsecond yes true\n");
    assert_eq!(stdout(&bench.run(code).await), "None yes true\n");
    let (status, why) =
        bench.refused("POST", "/execute", json!({"code": "1", "env_vars": {"A=B": "c"}})).await;
    assert_eq!((status, why.contains("A=B")), (StatusCode::BAD_REQUEST, true));
}

#[tokio::test]
async fn hanging_up_interrupts_the_cell_and_keeps_the_context() {
    let bench = Bench::new();
    bench.run("x = 7").await;
    let mut cell = bench.start(json!({"code": "import time; print('on'); time.sleep(1000)"})).await;
    cell.until("number_of_executions").await;
    drop(cell);
    assert_eq!(stdout(&bench.run("print(x)").await), "7\n");
}

#[tokio::test]
async fn a_cell_that_ignores_interrupts_costs_the_state_and_says_so() {
    let bench = Bench::new();
    let code = "x = 1; no_interrupts(); print('deaf', flush=True)\nwhile True: pass";
    let mut cell = bench.start(json!({"code": code})).await;
    cell.until("stdout").await;
    drop(cell);
    let lines = bench.run("print('x' in globals())").await;
    assert_eq!(stdout(&lines), "False\n");
    assert!(lines[0]["text"].as_str().expect("a note").contains("ignored its interrupts"), "{lines:?}");
}

#[tokio::test]
async fn a_queued_cell_whose_client_left_does_not_run() {
    let bench = Bench::new();
    let mut first =
        bench.start(json!({"code": "x = ['first']; print(ask('go?'))", "requests": "wait"})).await;
    let id = first.until("request").await["id"].as_str().expect("an id").to_owned();
    let left = bench.start(json!({"code": "x.append('left')"})).await;
    let last = bench.start(json!({"code": "x.append('last'); print(x)"})).await;
    drop(left);
    bench.call("POST", &format!("/execute/{id}/reply"), json!({"request": "r1", "value": "go"})).await;
    assert_eq!(stdout(&first.rest().await), "go\n");
    assert_eq!(stdout(&last.rest().await), "['first', 'last']\n");
}

#[tokio::test]
async fn the_death_of_a_kernel_is_told_from_an_exception() {
    let bench = Bench::new();
    let lines = bench.run("import os; x = 1; print('last words', flush=True); os._exit(3)").await;
    assert_eq!(kinds(&lines), ["number_of_executions", "stdout", "error", "end_of_execution"]);
    assert_eq!(error(&lines)["name"], "KernelExited");
    assert!(error(&lines)["value"].as_str().expect("text").contains("status 3"));
    let lines = bench
        .run("import os, signal; print('x' in globals(), flush=True); os.kill(os.getpid(), signal.SIGSEGV)")
        .await;
    assert_eq!(stdout(&lines), "False\n");
    assert_eq!(error(&lines)["name"], "KernelCrashed");
    let lines = bench.run("channel = __import__('socket').socket(fileno=3); channel.shutdown(2); __import__('time').sleep(1000)").await;
    assert!(error(&lines)["value"].as_str().expect("text").contains("control socket"));
    assert_eq!(stdout(&bench.run("print(1)").await), "1\n");
}

#[tokio::test]
async fn bad_messages_cost_only_themselves() {
    let bench = Bench::new();
    let code = "raw(b'nonsense\\n{\"type\":\"done\"}\\n[]\\n\\xff\\n'); raw(b'{\"type\":\"done\",\"id\":\"other\"}\\n')\nprint('alive')";
    let lines = bench.run(code).await;
    assert_eq!(stdout(&lines), "alive\n");
    let notes: String =
        lines.iter().filter(|l| l["type"] == "stderr").map(|l| l["text"].to_string()).collect();
    assert_eq!(notes.matches("was dropped").count(), 4, "{notes}");
    assert_eq!(stdout(&bench.run("print(2)").await), "2\n");
}

#[tokio::test]
async fn input_is_refused_where_nobody_can_answer() {
    let bench = Bench::new();
    let lines = bench.run("ask('name? ')").await;
    assert!(error(&lines)["value"].as_str().expect("text").contains("does not answer requests"));
}

#[tokio::test]
async fn an_answer_and_its_cell_cross_http_requests() {
    let bench = Bench::new();
    let ask = json!({"code": "print('before'); print(ask('name? '))", "requests": "wait"});
    let mut cell = bench.start(ask).await;
    let request = cell.until("request").await;
    assert_eq!(
        request,
        json!({"type": "request", "id": request["id"], "request": "r1", "kind": "input", "prompt": "name? ",
               "password": false})
    );
    drop(cell);
    let path = format!("/execute/{}", request["id"].as_str().expect("an id"));
    let (events, reply) = (format!("{path}/events"), format!("{path}/reply"));
    // The line may have been lost with the connection, so that it comes again.
    let mut again = Cell::of(bench.call("GET", &events, json!({})).await);
    assert_eq!(again.until("request").await, request);
    assert_eq!(bench.refused("GET", &events, json!({})).await.0, StatusCode::CONFLICT);
    drop(again);
    let unknown = json!({"request": "r9", "value": "x"});
    assert_eq!(bench.refused("POST", &reply, unknown).await.0, StatusCode::NOT_FOUND);
    let both = json!({"request": "r1", "value": "x", "error": "y"});
    assert_eq!(bench.refused("POST", &reply, both).await.0, StatusCode::BAD_REQUEST);
    let answer = json!({"request": "r1", "value": "Ada"});
    assert_eq!(bench.refused("POST", &reply, answer.clone()).await, (StatusCode::OK, "null".to_owned()));
    assert_eq!(bench.refused("POST", &reply, answer).await.0, StatusCode::CONFLICT);
    let lines = Cell::of(bench.call("GET", &events, json!({})).await).rest().await;
    assert_eq!(stdout(&lines), "Ada\n");
    assert_eq!(bench.refused("GET", &events, json!({})).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_cell_that_nobody_comes_back_to_is_interrupted() {
    let bench = Bench::with(|settings| settings.away = Duration::from_millis(200));
    let mut cell = bench.start(json!({"code": "ask('?')", "requests": "wait"})).await;
    cell.until("request").await;
    drop(cell);
    assert_eq!(stdout(&bench.run("print('free')").await), "free\n");
}

#[tokio::test]
async fn restart_drops_the_state_even_while_a_cell_runs() {
    let bench = Bench::new();
    let (_, made) =
        text(bench.call("POST", "/contexts", json!({"language": "py", "cwd": "/usr"})).await).await;
    let made: Value = serde_json::from_str(&made).expect("JSON");
    assert_eq!((&made["language"], &made["cwd"]), (&json!("python"), &json!("/usr")));
    let id = made["id"].as_str().expect("an id");
    let mut cell = bench
        .start(json!({"context_id": id, "code": "x = 1; print('on', flush=True); import time; time.sleep(1000)"}))
        .await;
    cell.until("stdout").await;
    let restart = format!("/contexts/{id}/restart");
    assert_eq!(bench.refused("POST", &restart, json!({})).await, (StatusCode::OK, "null".to_owned()));
    assert_eq!(error(&cell.rest().await)["name"], "ContextRestarting");
    let code = "import os; print('x' in globals(), os.getcwd())";
    assert_eq!(
        stdout(&bench.start(json!({"context_id": id, "code": code})).await.rest().await),
        "False /usr\n"
    );
}

#[tokio::test]
async fn deleting_a_context_ends_its_cells() {
    let bench = Bench::new();
    let (_, made) = text(bench.call("POST", "/contexts", json!({})).await).await;
    let made: Value = serde_json::from_str(&made).expect("JSON");
    let path = format!("/contexts/{}", made["id"].as_str().expect("an id"));
    let (_, listed) = text(bench.call("GET", "/contexts", json!({})).await).await;
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.len(), 2);
    assert_eq!(listed[1], made, "the newest comes last");
    let cell = bench.start(json!({"context_id": made["id"], "code": "import time; time.sleep(1000)"})).await;
    let queued = bench.start(json!({"context_id": made["id"], "code": "1"})).await;
    assert_eq!(bench.refused("DELETE", &path, json!({})).await, (StatusCode::OK, "null".to_owned()));
    assert_eq!(error(&cell.rest().await)["name"], "ExecutionAborted");
    assert_eq!(error(&queued.rest().await)["name"], "ExecutionAborted");
    assert_eq!(bench.refused("DELETE", &path, json!({})).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_cannot_run_says_why() {
    let bench = Bench::with(|settings| settings.start = Duration::from_secs(2));
    let both = json!({"code": "1", "context_id": "x", "language": "python"});
    assert_eq!(
        bench.refused("POST", "/execute", both).await,
        (StatusCode::BAD_REQUEST, "Only one of context_id or language can be provided".to_owned())
    );
    assert_eq!(
        bench.refused("POST", "/execute", json!({"code": "1", "context_id": "x"})).await,
        (StatusCode::NOT_FOUND, "Context x not found".to_owned())
    );
    let (status, why) = bench.refused("POST", "/execute", json!({"code": "1", "language": "cobol"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(why.contains("`cobol`") && why.contains("broken, python, silent"), "{why}");
    let (status, why) = bench.refused("POST", "/execute", json!({"code": "1", "language": "broken"})).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(why.contains("exit status 7") && why.contains("no such library"), "{why}");
    let (status, why) = bench.refused("POST", "/execute", json!({"code": "1", "language": "silent"})).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(why.contains("not ready within 2 s"), "{why}");
    assert_eq!(bench.refused("POST", "/execute", json!({})).await.0, StatusCode::BAD_REQUEST);
    let nowhere = json!({"cwd": "/nowhere"});
    assert_eq!(bench.refused("POST", "/contexts", nowhere).await.0, StatusCode::BAD_REQUEST);
    let without = Bench::with(|settings| settings.manifest = "/nowhere".into());
    let (status, why) = without.refused("POST", "/execute", json!({"code": "1"})).await;
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(why.contains("its template has no kernels"), "{why}");
}

#[tokio::test]
async fn contexts_have_a_ceiling_that_is_named() {
    let bench = Bench::new();
    for _ in 0..crate::limits::MAX_CONTEXTS {
        // Kernels that never get ready cost nothing here.
        let response = bench.call("POST", "/contexts", json!({"language": "silent"})).await;
        assert_eq!(response.status(), StatusCode::OK);
    }
    let (status, why) = bench.refused("POST", "/contexts", json!({"language": "silent"})).await;
    assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
    assert!(why.contains("64 contexts") && why.contains("delete one"), "{why}");
}

#[tokio::test]
async fn a_slow_reader_slows_the_cell_and_silence_has_keepalives() {
    let bench = Bench::with(|settings| settings.keepalive = Duration::from_millis(100));
    let mut cell =
        bench.start(json!({"code": "import time; time.sleep(0.5)\nwhile True: print('y' * 1000)"})).await;
    cell.until("keepalive").await;
    let mut seen = 0;
    while seen < 4 << 20 {
        seen += cell.until("stdout").await["text"].as_str().expect("text").len();
    }
    drop(cell);
    assert_eq!(stdout(&bench.run("print('next')").await), "next\n");
}

#[tokio::test]
async fn only_execution_asks_for_the_token() {
    let bench = Bench::new();
    let without =
        |path: &str| http::Request::post(path).body(Body::from("{\"code\":\"1\"}")).expect("a request");
    let status = |path: &'static str| {
        let (router, request) = (bench.router.clone(), without(path));
        async move { router.oneshot(request).await.expect("infallible").status() }
    };
    assert_eq!(status("/execute").await, StatusCode::UNAUTHORIZED);
    assert_eq!(status("/execute/cell-1/reply").await, StatusCode::UNAUTHORIZED);
    assert_eq!(status("/contexts/x/restart").await, StatusCode::NOT_FOUND);
}

//! A small client of the DevTools protocol: messages are JSON, each ended by a zero byte, in two pipes.

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The patience with an answer. A loaded machine may take long to start the browser.
const PATIENCE: Duration = Duration::from_secs(90);

/// The options with which Chromium asks for nothing from the network by itself.
const OPTIONS: [&str; 11] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    commands: RefCell<File>,
    messages: Receiver<Value>,
    session: RefCell<Option<String>>,
    next_id: Cell<u64>,
    /// The events so far, by method.
    events: RefCell<Vec<Value>>,
    directory: TempDir,
}

impl Browser {
    /// Starts Chromium; `None` where it is missing.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = ["chromium", "chromium-browser"]
            .into_iter()
            .find(|name| is_installed(name))
        else {
            skip("Chromium is not installed");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let [input, output] = ["in", "out"].map(|name| {
            let path = directory.path().join(name);
            assert!(
                Command::new("mkfifo")
                    .arg(&path)
                    .status()
                    .unwrap()
                    .success()
            );
            // Opened for both directions, a pipe waits for no other end.
            (
                OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&path)
                    .unwrap(),
                path,
            )
        });
        let profile = directory.path().join("profile");
        let script = format!("exec {program} \"$@\" 3<\"$IN\" 4>\"$OUT\"");
        let child = Command::new("bash")
            .args(["-c", &script, "chromium"])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .env("IN", &input.1)
            .env("OUT", &output.1)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut reader = BufReader::new(output.0);
            let mut message = Vec::new();
            while reader
                .read_until(0, &mut message)
                .is_ok_and(|length| length > 0)
            {
                message.pop();
                if sender
                    .send(serde_json::from_slice(&message).unwrap())
                    .is_err()
                {
                    break;
                }
                message.clear();
            }
        });
        let browser = Self {
            child,
            commands: RefCell::new(input.0),
            messages,
            session: RefCell::default(),
            next_id: Cell::new(1),
            events: RefCell::default(),
            directory,
        };
        let target = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let session = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", &session)["sessionId"]
            .as_str()
            .map(str::to_owned);
        *browser.session.borrow_mut() = session;
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    /// A directory that is removed with the browser.
    pub(crate) fn directory(&self) -> PathBuf {
        self.directory.path().to_owned()
    }

    /// Calls a method and returns its result.
    pub(crate) fn call(&self, method: &str, parameters: &Value) -> Value {
        let id = self.next_id.replace(self.next_id.get() + 1);
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if let Some(session) = &*self.session.borrow() {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.borrow_mut().write_all(&bytes).unwrap();
        loop {
            let answer = self
                .messages
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("no answer to {method}"));
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.borrow_mut().push(answer);
        }
    }

    /// Returns the parameters of the events of a method so far.
    pub(crate) fn events(&self, method: &str) -> Vec<Value> {
        let events = self.events.borrow();
        events
            .iter()
            .filter(|event| event["method"] == method)
            .map(|event| event["params"].clone())
            .collect()
    }

    /// Sets the size of the window.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
    }

    /// Opens a page and waits until it is loaded.
    pub(crate) fn open(&self, page: &Path) {
        self.events.borrow_mut().clear();
        self.call(
            "Page.navigate",
            &json!({"url": format!("file://{}", page.display())}),
        );
        while self.events("Page.loadEventFired").is_empty() {
            let event = self
                .messages
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("the page is not loaded"));
            self.events.borrow_mut().push(event);
        }
    }

    /// Opens a page and waits until its script has run.
    pub(crate) fn open_with_script(&self, page: &Path) {
        self.open(page);
        let has_run = self.evaluate(
            "new Promise((done) => { const check = (left) => document.documentElement.className === 'js' ? done(true)
             : left ? setTimeout(check, 20, left - 1) : done(false); check(1500); })",
        );
        assert_eq!(
            has_run,
            true,
            "the script has not run: {:?}",
            self.complaints()
        );
    }

    /// Returns the value of an expression.
    pub(crate) fn evaluate(&self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", &parameters);
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    /// Moves the pointer, or presses (`mousePressed`) or releases a button there.
    pub(crate) fn mouse(&self, kind: &str, (x, y): (f64, f64)) {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let parameters = json!({"type": kind, "x": x, "y": y, "button": button, "clickCount": 1});
        self.call("Input.dispatchMouseEvent", &parameters);
    }

    /// Presses and releases a key.
    pub(crate) fn key(&self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", &json!({"type": kind, "key": key}));
        }
    }

    /// Returns what went wrong on the page: errors, messages on the console, and requests other than for the page itself.
    pub(crate) fn complaints(&self) -> Vec<Value> {
        // Whatever comes before this answer happened on the page.
        self.evaluate("1");
        let requests = self
            .events("Network.requestWillBeSent")
            .into_iter()
            .filter(|request| {
                let url = request["request"]["url"].as_str().unwrap();
                !(url.starts_with("file://") && request["type"] == "Document" || url == "data:,")
            });
        let errors = [
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Log.entryAdded",
        ];
        errors
            .into_iter()
            .flat_map(|method| self.events(method))
            .chain(requests)
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_installed(program: &str) -> bool {
    let command = format!("command -v {program}");
    Command::new("sh")
        .args(["-c", &command])
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn skip(reason: &str) {
    eprintln!("skipped: {reason}");
    let is_required = std::env::var("BLKSTAT_BROWSER").is_ok_and(|value| value == "required");
    assert!(!is_required, "BLKSTAT_BROWSER=required, but: {reason}");
}

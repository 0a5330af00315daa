//! What the tests of the stock clients ask: one call of a client, and the service and its sandbox about the effect.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::node::Node;
use crate::server_process::ServerProcess;

impl Node {
    /// One call of one stock client: see `call.mjs`.
    pub fn call(self, url: &str, options: &Value) -> Value {
        let run = self
            .script("call.mjs")
            .args([url, &options.to_string()])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        serde_json::from_slice(&run.stdout).unwrap()
    }
}

impl Node {
    /// `mppx validate` of one endpoint, in a home of its own: its report.
    pub fn validate(self, base: &str, endpoint: &str, query: &[String]) -> Value {
        let home = tempfile::tempdir().unwrap();
        let mut command = self.script("node_modules/mppx/dist/bin.js");
        command.args(["validate", base, "--endpoint", endpoint, "--output-json"]);
        for parameter in query {
            command.args(["--query", parameter]);
        }
        let run = command.env("HOME", home.path()).stdin(Stdio::null()).output().unwrap();
        let report = serde_json::from_slice(&run.stdout);
        report.unwrap_or_else(|e| panic!("{e}: {run:?}"))
    }
}

impl ServerProcess {
    pub async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.http.post(self.url(path)).json(body).send().await.unwrap();
        (answer.status().as_u16(), answer.json().await.unwrap())
    }

    /// What really moved on a sandbox chain, oldest first.
    pub async fn transfers(&self, chain: &str) -> Vec<Value> {
        let (status, _, body) = self.get(&format!("/sandbox/transfers?network={chain}"), &[]).await;
        assert_eq!(status, 200, "{body}");
        body["transfers"].as_array().unwrap().clone()
    }

    /// Reads a card as an agent does, until it is no longer pending.
    pub async fn card(&self, id: &str, token: &str) -> Value {
        for _ in 0..200 {
            let (status, body) = self.bearer(&format!("/get-card-data?card_id={id}"), token).await;
            assert_eq!(status, 200, "{body}");
            if body["status"] != "pending" {
                return body;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("{id} stays pending");
    }
}

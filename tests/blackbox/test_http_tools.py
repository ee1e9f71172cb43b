"""The gateway, looked at by tools that nobody here wrote."""
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading

import pytest

import engine
import gateway
import registry_packages
import support

CLIENTS = support.REPO / "tests" / "clients"
PROMTOOL = shutil.which("promtool")
EXAMPLES = 3  # of each operation


@pytest.fixture(scope="module", name="collector")
def _collector():
    """Takes spans as an OTLP collector does."""
    spans = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802 - the library calls it so
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            for part in body["resourceSpans"]:
                assert part["resource"]["attributes"][0]["key"] == "service.name"
                spans.extend(span for scope in part["scopeSpans"] for span in scope["spans"])
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.spans = spans
        yield server
        server.shutdown()


@pytest.fixture(scope="module", name="service")
def _service(tmp_path_factory, collector):
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}"}
    with gateway.Gateway(tmp_path_factory.mktemp("tools") / "g", env=env) as running:
        running.secret = running.token("tools")
        yield running


@pytest.fixture(scope="module", name="document")
def _document(tmp_path_factory):
    path = tmp_path_factory.mktemp("openapi") / "openapi.json"
    with open(path, "wb") as out:
        subprocess.run([gateway.PROGRAM, "--openapi"], check=True, stdout=out)
    return path


def test_spans_reach_a_collector(service, collector):
    trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
    done = service.run({"language": "bash", "code": "exit 3"}, traceparent=f"00-{trace}-{parent}-01")
    service.run({"language": "bash", "code": ":"}, traceparent="00-zz-1-01")

    def mine():
        return {next(a["value"]["stringValue"] for a in span["attributes"] if a["key"] == "sandbox_run.id"): span
                for span in collector.spans}

    assert engine.within(20, lambda: done["id"] in mine() and len(collector.spans) >= 2)
    span = mine()[done["id"]]
    values = {attribute["key"]: attribute["value"]["stringValue"] for attribute in span["attributes"]}
    assert (span["traceId"], span["parentSpanId"]) == (trace, parent) and len(span["spanId"]) == 16
    assert values["sandbox_run.outcome"] == "exited" and values["process.exit.code"] == "3"
    assert int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]) > 10**18
    other = [one for key, one in mine().items() if key != done["id"]][0]
    assert other["traceId"] != trace and "parentSpanId" not in other


@pytest.mark.skipif(not PROMTOOL, reason="promtool of the package prometheus is missing")
def test_promtool_accepts_metrics_and_rules(service):
    service.run({"language": "bash", "code": "exit 1"})
    text = service.ask("GET", "/metrics").body
    done = subprocess.run([PROMTOOL, "check", "metrics"], input=text, capture_output=True, timeout=support.DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = support.REPO / "data" / "prometheus" / "sandbox-run.rules.yml"
    done = subprocess.run([PROMTOOL, "check", "rules", rules], capture_output=True, timeout=support.DEADLINE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_linter_and_a_generator_accept_the_document(document, tmp_path):
    modules = registry_packages.npm("openapi", CLIENTS / "openapi")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}
    rules = CLIENTS / "openapi" / "redocly.yaml"
    done = subprocess.run(["node", modules / "@redocly/cli/bin/cli.js", "lint", document, "--config", rules, "--format=json"],
                          env=env, cwd=tmp_path, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0 and json.loads(done.stdout)["totals"]["warnings"] == 0, (done.stdout, done.stderr)
    types = tmp_path / "api.ts"
    subprocess.run(["node", modules / "openapi-typescript/bin/cli.js", document, "-o", types], env=env, cwd=tmp_path,
                   check=True, capture_output=True, timeout=180)
    assert "create_execution" in types.read_text()


def test_schemathesis_finds_nothing(service, tmp_path):
    """Generated requests, good and wrong: every reply has a status, a type and a body that the document allows."""
    site = registry_packages.pip("schemathesis", CLIENTS / "schemathesis" / "requirements.txt")
    env = {**service.env, "PYTHONPATH": str(site), "HOME": str(tmp_path), "COLUMNS": "200"}
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", f"http://{service.address}/openapi.json",
         "--header", f"Authorization: Bearer {service.secret}", "--max-examples", str(EXAMPLES), "--phases", "fuzzing",
         "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
         "--exclude-path-regex", "readyz|/socket$|/v1/(tests|builds|golden|verify|comparisons|profiles)$", "--seed", "22", "--no-color",
         "--generation-database", "none", "--request-timeout", "60", "--suppress-health-check", "all"],
        env=env, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]

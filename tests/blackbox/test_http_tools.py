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
PYTHON = "/usr/bin/python3"
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


def run(words, tmp_path, **env):
    """What a tool printed; it must neither fail nor warn."""
    done = subprocess.run(words, env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), **env}, cwd=tmp_path, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=180, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout + done.stderr


def test_a_linter_accepts_the_document(document, tmp_path):
    modules = registry_packages.npm("openapi", CLIENTS / "openapi")
    said = run(["node", modules / "@redocly/cli/bin/cli.js", "lint", document, "--config", CLIENTS / "openapi" / "redocly.yaml",
                "--format=json"], tmp_path, REDOCLY_TELEMETRY="off", REDOCLY_SUPPRESS_UPDATE_NOTICE="true")
    assert json.loads(said[said.index("{"):said.rindex("}") + 1])["totals"]["warnings"] == 0, said


def test_generated_types_compile_and_work(document, service, tmp_path):
    """By openapi-typescript, under the strictest tsc, with nothing but `fetch`."""
    modules = registry_packages.npm("openapi", CLIENTS / "openapi")
    compiler = registry_packages.npm("sdk-typescript", support.REPO / "sdk" / "typescript")
    run(["node", modules / "openapi-typescript/bin/cli.js", document, "-o", tmp_path / "api.ts"], tmp_path)
    shutil.copy(CLIENTS / "openapi" / "generated_types.mts", tmp_path)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "node_modules").symlink_to(compiler)
    run(["node", compiler / "typescript/bin/tsc", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
         "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--types", "node", "--skipLibCheck",
         "generated_types.mts"], tmp_path)
    assert json.loads(run(["node", "generated_types.mjs", f"http://{service.address}", service.secret], tmp_path)) == "42\n"


@pytest.mark.parametrize("maker", ["python_client", "generator"])
def test_a_generated_client_works(document, service, tmp_path, maker):
    """By openapi-python-client and by openapi-generator: nothing is left out, and what they make runs."""
    site = registry_packages.pip("openapi-clients", CLIENTS / "openapi" / "requirements.txt")
    place = {"PYTHONPATH": f"{site}:{tmp_path}"}
    if maker == "python_client":
        said = run([PYTHON, "-m", "openapi_python_client", "generate", "--path", document, "--output-path", "generated",
                    "--meta", "none"], tmp_path, **place)
        assert "parsing" not in said and "Unable" not in said, said
    else:
        if not shutil.which("java"):
            pytest.skip("there is no Java, in which openapi-generator is written")
        run(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-jar", site / "openapi_generator_cli/openapi-generator.jar",
             "generate", "-i", document, "-g", "python", "-o", ".", "--package-name", "generated",
             "--global-property", "models,apis,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"],
            tmp_path)
    said = run([PYTHON, CLIENTS / "openapi" / f"generated_by_{maker}.py", f"http://{service.address}", service.secret],
               tmp_path, **place)
    assert json.loads(said) == ["42\n", "1\n", "23", True]


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

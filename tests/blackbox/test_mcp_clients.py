"""`sandbox-run mcp` and /mcp of the gateway with clients that nobody here wrote: all see the same."""
import json
import subprocess

import pytest

import gateway
import registry_packages
import support

CLIENTS = support.REPO / "tests" / "clients"
EXPECTED = {
    "tools": ["run_code", "run_command", "verify_code", "create_session", "run_cell", "list_sessions", "close_session",
              "rollback_session", "read_file", "write_file", "list_files", "search_files", "show_changes",
              "apply_changes", "list_languages", "explain_denial"],
    "stdout": "42\n", "blocks": ["text", "text"], "failed": [1, False, "ZeroDivisionError"],
    "refused": [True, "denied: timeout_second"], "cell": ["21"], "closed": {"closed": True},
    "diff": ["+++ b/made.txt", "+new"], "applied": True, "resource": "", "unknown": -32602, "progress": True,
}
LEGACY, MODERN = "2025-11-25", "2026-07-28"
OVER_HTTP = {name: value for name, value in EXPECTED.items() if name not in ("diff", "applied")}
OVER_HTTP.update(tools=[tool for tool in EXPECTED["tools"] if not tool.endswith("_changes")], made=["made.txt"])
KINDS = [("sdk", LEGACY), ("legacy", LEGACY), ("auto", MODERN), ("pin", MODERN)]


def run(command, folder, **env):
    """Runs a client, whose server is ours; what it printed."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=support.DEADLINE, check=False, cwd=folder,
                          env=support.surroundings(None, {"SANDBOX_RUN_STATE": str(folder / "state"), **env}))
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(name="project")
def one_project(folder):
    (folder / "project").mkdir()
    return folder / "project"


@pytest.mark.container
@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
@pytest.mark.parametrize("kind, version", KINDS)
def test_the_clients_of_the_typescript_sdks(kind, version, folder, project):
    modules = registry_packages.npm("mcp-clients", CLIENTS / "mcp")
    seen = run(["node", CLIENTS / "mcp/conversation.mjs", kind, modules, support.SANDBOX_RUN, "--project", project],
               folder)
    assert seen == {**EXPECTED, "version": version}
    assert (project / "made.txt").read_text() == "new\n"


@pytest.mark.container
def test_the_client_of_the_python_sdk(folder, project):
    site = registry_packages.pip("mcp-python", CLIENTS / "mcp-python/requirements.txt")
    seen = run(["/usr/bin/python3", CLIENTS / "mcp-python/conversation.py", support.SANDBOX_RUN, "--project", project],
               folder, PYTHONPATH=str(site))
    assert seen == {**EXPECTED, "version": LEGACY}


@pytest.fixture(scope="module", name="http")
def one_gateway(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("mcp") / "g") as running:
        running.words = [f"http://{running.address}/mcp", running.token("agent")]
        yield running


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
@pytest.mark.parametrize("kind, version", KINDS)
def test_the_clients_of_the_typescript_sdks_over_http(kind, version, folder, http):
    modules = registry_packages.npm("mcp-clients", CLIENTS / "mcp")
    seen = run(["node", CLIENTS / "mcp/conversation.mjs", kind, modules, *http.words], folder)
    assert seen == {**OVER_HTTP, "version": version}


def test_the_client_of_the_python_sdk_over_http(folder, http):
    site = registry_packages.pip("mcp-python", CLIENTS / "mcp-python/requirements.txt")
    seen = run(["/usr/bin/python3", CLIENTS / "mcp-python/conversation.py", *http.words], folder, PYTHONPATH=str(site))
    assert seen == {**OVER_HTTP, "version": LEGACY}

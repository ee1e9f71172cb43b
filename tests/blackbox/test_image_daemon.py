"""Images of a daemon on this machine: asked over its socket by us, then fetched like any archive."""
import contextlib
import os
import socket
import subprocess
import threading

import pytest

import oci_images
import support
from oci_images import archive
from waiting import SOON


@contextlib.contextmanager
def daemon(path, *replies):
    """Answers so many requests, and keeps the first line of each."""
    asked = []

    def serve():
        for reply in replies:
            with contextlib.suppress(OSError):
                peer, _ = listener.accept()
                with peer, peer.makefile("rb") as lines:
                    asked.append(b"".join(iter(lines.readline, b"\r\n")).split(b"\r\n")[0].decode())
                    peer.sendall(reply)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(1)
        listener.settimeout(SOON)
        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        thread.join()


@pytest.fixture(name="place")
def daemon_place(folder, any_caller):
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder), "DOCKER_HOST": f"unix://{folder}/socket"}
    return lambda *words: support.sandbox_run(*words, caller=any_caller, env=env)


@pytest.mark.container
def test_an_image_of_a_daemon_is_asked_for_once_and_runs(place, folder):
    layout = oci_images.Layout(folder / "layout")
    ref = layout.add([archive(oci_images.busybox_members())], Env=["PATH=/bin"], Cmd=["cat", "/app/data"])
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", ref, f"docker-archive:{folder}/app.tar:app:1"], check=True)
    reply = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-tar\r\n\r\n" + (folder / "app.tar").read_bytes()
    with daemon(folder / "socket", reply) as asked:
        done = place("exec", "--image", "docker-daemon:app:1")
        assert (done.returncode, done.stdout) == (0, b"first\n"), done.stderr
    assert asked == ["GET /images/app:1/get HTTP/1.0"]
    assert place("exec", "--image", "docker-daemon:app:1").stdout == b"first\n"  # it is here now
    assert b"docker-daemon:app:1" in place("image", "list").stdout
    assert place("image", "rm", "docker-daemon:app:1").returncode == 0


def test_an_image_of_the_daemon_comes_before_a_registry(place, folder):
    """As with Docker: a name that the daemon has is not looked for elsewhere, and one that it has not, is."""
    ref = oci_images.Layout(folder / "layout").add([archive(oci_images.busybox_members())], Env=["PATH=/bin"], Cmd=["cat", "/app/data"])
    subprocess.run(["skopeo", "copy", "--quiet", "--insecure-policy", ref, f"docker-archive:{folder}/app.tar:app:1"], check=True)
    saved = b"HTTP/1.0 200 OK\r\nContent-Type: application/x-tar\r\n\r\n" + (folder / "app.tar").read_bytes()
    with daemon(folder / "socket", b"HTTP/1.0 200 OK\r\n\r\n{}", saved) as asked:
        done = place("exec", "--image", "127.0.0.1:1/app:1")
        assert (done.returncode, done.stdout) == (0, b"first\n"), done.stderr
    assert asked == ["GET /images/127.0.0.1:1/app:1/json HTTP/1.0", "GET /images/127.0.0.1:1/app:1/get HTTP/1.0"]
    (folder / "socket").unlink()
    with daemon(folder / "socket", b"HTTP/1.0 404 Not Found\r\n\r\n{}") as asked:
        done = place("image", "pull", "--quiet", "127.0.0.1:9/other:1")
    assert done.returncode and b"127.0.0.1:9" in done.stderr and len(asked) == 1, done.stderr


def test_a_daemon_that_is_not_there_says_why_and_what_to_do(folder):
    """The reason is the kernel's own, and one sentence says what mends it; DOCKER_HOST names the socket."""
    gone = folder / "gone"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(gone))  # nobody listens
        for path, why in ((folder / "none", b"No such file or directory"), (gone, b"Connection refused")):
            for words, env in ((["--backend", "docker"], {"DOCKER_HOST": f"unix://{path}"}), (["--backend", f"docker:{path}"], {})):
                done = support.sandbox_run("exec", *words, "--", "true", env=env)
                assert done.returncode == 125 and str(path).encode() in done.stderr, done.stderr
                assert why in done.stderr and b"start it, or name its socket" in done.stderr, done.stderr


@pytest.mark.parametrize("reply, words", [
    (b'HTTP/1.0 404 Not Found\r\n\r\n{"message":"No such image: app:latest"}\n', b"No such image: app:latest"),
    (b"HTTP/1.0 500 No\r\n\r\n", b"it gave no reason"),
    (b"nonsense", b"gave no answer"),
    (b"HTTP/1.0 200 OK\r\n\r\nnonsense", b"cannot fetch 'app:latest'"),
    (b"", b"gave no answer"),
], ids=["none", "failed", "nonsense", "no-archive", "closed"])
def test_a_daemon_that_gives_no_image_is_an_error_in_one_sentence(place, folder, reply, words):
    with daemon(folder / "socket", reply):
        done = place("image", "pull", "--quiet", "docker-daemon:app")
    assert done.returncode == (127 if b"No such" in words or b"fetch" in words else 125), done
    assert words in done.stderr and done.stderr.count(b"\n") == 1, done.stderr
    assert not (folder / "cache/image/name").exists() or not list((folder / "cache/image/name").iterdir())


def test_a_daemon_elsewhere_is_refused(folder):
    done = support.sandbox_run("image", "pull", "--quiet", "docker-daemon:app", env={"DOCKER_HOST": "tcp://127.0.0.1:2375"})
    assert done.returncode == 125 and b"set it to unix:///PATH" in done.stderr, done.stderr
    done = support.sandbox_run("image", "pull", "--quiet", "docker-daemon:app", env={"DOCKER_HOST": f"unix://{folder}/none"})
    assert done.returncode == 125 and b"no container engine can be reached" in done.stderr, done.stderr

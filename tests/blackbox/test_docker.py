"""`sandbox-run docker`: Docker's own words, and a link with that name."""
import fcntl
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

import oci_images
import support
from oci_images import archive
from waiting import read_line, started, wait_until

CALLER = support.available_callers()[0]
FILES = "for i in /proc/$$/fd/*; do echo ${i##*/}; done"


@pytest.fixture(name="image", scope="module")
def image_with_entrypoint(tmp_path_factory):
    """A layout with one image, and the environment in which it is pulled."""
    folder = tmp_path_factory.mktemp("docker")
    layout = oci_images.Layout(folder / "layout")
    ref = layout.add([archive(oci_images.busybox_members())], Env=["PATH=/bin"], WorkingDir="/app",
                     Entrypoint=["sh", "-c"], Cmd=["echo from the image; exit 3"])
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "SANDBOX_RUN_STATE": str(folder / "state"),
           "HOME": str(folder)}
    return ref, env


def docker(image, *words, program=support.SANDBOX_RUN, **kwargs):
    first = [] if program.name == "docker" else ["docker"]
    done = subprocess.run([program, *first, *words], env=support.surroundings(CALLER, image[1]), capture_output=True,
                          timeout=support.DEADLINE, check=False, **kwargs)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.mark.container
def test_run_means_what_docker_means(image, tmp_path):
    ref = image[0]
    (tmp_path / "word").write_text("of the host\n")
    os.chmod(tmp_path, 0o777)
    assert docker(image, "run", "--rm", ref)[:2] == (3, "from the image\n"), "entrypoint and command"
    line = "cat; cat word; echo $A $PWD; echo new > made; kill -9 $$"
    assert docker(image, "run", "-i", "-e", "A=1", "-v", f"{tmp_path}:/data", "-w", "/data", ref, line,
                  input=b"in\n")[:2] == (137, "in\nof the host\n1 /data\n")
    assert (tmp_path / "made").read_text() == "new\n", "volumes are writable unless they say otherwise"
    assert docker(image, "run", ref, "cat; echo end", input=b"in\n")[:2] == (0, "end\n"), "stdin only with -i"
    assert docker(image, "run", "--entrypoint", "cat", ref, "/app/data")[:2] == (0, "first\n"), "no command of the image"
    assert docker(image, "run", "--entrypoint", "/nothing", ref)[0] == 127
    assert docker(image, "run", "--entrypoint", "/etc/passwd", ref)[0] == 126
    assert docker(image, "run", ref, "echo x > /bin/x; cat /bin/x")[1] == "x\n"
    status, out, said = docker(image, "run", "--read-only", ref, "echo x > /bin/x; echo y > /tmp/y; cat /tmp/y")
    assert (status, out) == (0, "y\n") and "Read-only file system" in said


@pytest.mark.container
def test_no_error_of_ours_looks_like_one_of_the_command(image, tmp_path):
    """126 and 127 are about the command, 125 is about everything before it."""
    ref = image[0]
    for words, says in ((("oci:/nonesuch",), "there is no '/nonesuch'"), (("app@sha256:00",), "its digest"),
                        (("--env-file", tmp_path / "none", ref), "cannot read"), (("-w", "none", ref), "not an absolute path"),
                        (("-v", f"{tmp_path}/none:/d", ref), "there is no"), (("-w", "/etc/passwd/x", ref), "cannot enter"),
                        (("-v", f"{tmp_path}:d", ref), "d"), (("-v", "data:/d", ref), "no named volumes"), (("-v", "/d", ref), "no anonymous volumes"),
                        (("--mount", f"type=bind,src={tmp_path},dst=/d,ro=maybe", ref), "nothing else"), (("--mount", "type=bind,src=,dst=/d", ref), "--volume"),
                        (("--mount", f"type=bind,src={tmp_path}", ref), "nothing else"), (("--tmpfs", "/x:size=1m", ref), "only /tmp"),
                        (("-m", "5m", ref), "the least is 6m"), (("-m", "x", ref), "give a size"), (("--memory-swap", "-1", ref), "no swap"),
                        (("-m", "64m", "--memory-swap", "128m", ref), "no swap"), (("--memory-swap", "64m", ref), "no swap"),
                        (("--pids-limit", "-1", ref), "always has such a limit"), (("--cpus", "x", ref), "--cpus"),
                        (("--entrypoint", "", ref), "no command is specified"), (("-e", "", ref), "is not NAME=VALUE"), (("-e", "=x", ref), "is not NAME=VALUE"),
                        (("--stop-timeout", "x", ref), "--stop-timeout x: give seconds"), (("-m", "1k", ref), "--memory"),
                        (("--stop-timeout", "61", ref), "from 0 to 60"), (("--nonesuch", ref), "is no option")):
        status, out, said = docker(image, "run", *map(str, words), stdin=subprocess.DEVNULL)
        assert (status, out) == (125, "") and says in said, (words, status, said)
    for words, says in ((("-it", ref), "the input device is not a TTY"), ((), "there is no image"), (("--rm",), "there is no image")):
        status, out, said = docker(image, "run", *words, stdin=subprocess.DEVNULL)
        assert (status, out) == (1, "") and says in said, "as Docker: no container was asked for"
    assert docker(image, "run", "-t", ref, "test -t 1 || tty", stdin=subprocess.DEVNULL)[0] == 0, "a terminal without -i"
    status, out, _ = docker(image, "run", "--help")
    assert status == 0 and "docker run [OPTIONS] IMAGE" in out


@pytest.mark.container
def test_options_have_dockers_meaning(image, tmp_path):
    ref = image[0]
    os.chmod(tmp_path, 0o777)
    (tmp_path / "env").write_bytes(b"\xef\xbb\xbfFIRST=1\r\n# a comment\n\n  SECOND= two words \nHANDED\nNOT_SET\nQUOTED='q'\n")
    handed = {**support.surroundings(CALLER, image[1]), "HANDED": "on", "ALSO": "too"}
    done = subprocess.run([support.SANDBOX_RUN, "docker", "run", "--env-file", tmp_path / "env", "-e", "ALSO", "-e", "NOT_THERE", ref,
                           'echo "$FIRST|$SECOND|$HANDED|${NOT_SET-none}|$QUOTED|$ALSO|${NOT_THERE-none}"'], env=handed, capture_output=True, check=False)
    assert done.stdout.decode() == "1| two words |on|none|'q'|too|none\n", done.stderr
    read = ("--mount", f"type=bind,src={tmp_path},dst=/d,ro")
    assert docker(image, "run", *read, ref, "touch /d/x || cat /d/env | wc -l")[1] == "7\n"
    assert docker(image, "run", *read[:1], read[1] + "=false", ref, "touch /d/written && echo ok")[1] == "ok\n"
    assert docker(image, "run", "-v", "./env:/d/env:ro", ref, "wc -l < /d/env", cwd=tmp_path)[1] == "7\n", "relative to where it was called"
    assert docker(image, "run", "-m", "1g", "--memory-swap", "1024m", "--cpus", "0.5", "--pids-limit", "50", "--stop-timeout", "1", "--init", "--rm",
                  "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--tmpfs", "/tmp", "--network", "none", ref, "echo ran")[:2] == (0, "ran\n")
    assert docker(image, "run", "--entrypoint", "", ref, "cat", "/app/data")[:2] == (0, "first\n"), "the image's is gone"


@pytest.mark.container
def test_a_work_directory_that_is_not_there_is_made(image, tmp_path):
    ref = image[0]
    os.chmod(tmp_path, 0o777)
    line = "pwd; echo x > made && cat made"
    for place, real in {"/srv/deep/er": "/srv/deep/er", "/app/new": "/app/new", "/sbin/below/a/link": "/bin/below/a/link", "/tmp/x/y": "/tmp/x/y",
                        "/work/z": "/work/z", "/opt": "/opt", "/var/lib/empty": "/var/lib/empty"}.items():
        assert docker(image, "run", "-w", place, ref, line)[:2] == (0, f"{real}\nx\n"), place
    assert docker(image, "run", "-v", f"{tmp_path}:/data", "-w", "/data/sub", ref, line)[:2] == (0, "/data/sub\nx\n")
    assert (tmp_path / "sub/made").read_text() == "x\n"
    assert docker(image, "run", "-w", "/etc", ref, "ls -d /srv /app/new; pwd")[1] == "/etc\n", "in that run only"
    (tmp_path / "away").symlink_to("/etc")
    status, _, said = docker(image, "run", "-v", f"{tmp_path}:/data", "-w", "/data/away/sub", ref, line)
    assert status == 125 and "cannot enter the work directory" in said, "through no link of a volume"


@pytest.mark.container
def test_what_is_not_done_is_refused_with_one_sentence(image):
    for words, says in ((("run", "--restart", "always", image[0]), "--restart is refused"), (("exec", "web", "sh"), "session exec"),
                        (("stats", "-a"), "takes no options"), (("inspect",), "give one name"), (("logs", "-f", "web"), "give one name"),
                        (("ps", "-a"), "takes no options"), (("kill", "-s", "HUP", "web"), "--signal takes"),
                        (("rmi", "--no-prune", "a"), "'--no-prune' is not done here"), (("build", "."), "'docker build' is not done here"),
                        (("rm", "-v", "web"), "'-v' is not done here"), (("pull", "-a", "x"), "give one image"),
                        (("run", "-p", "0.0.0.0:8080:80", image[0]), "beyond this machine")):
        status, out, said = docker(image, *words)
        assert (status, out, said.count("\n")) == (125, "", 1) and says in said, words


@pytest.mark.container
def test_a_user_is_the_one_of_the_image_or_refused(image):
    ref = image[0]
    show = "echo $USER $HOME; id -u; id -g"
    assert docker(image, "run", "-u", "app", ref, show)[:2] == (0, "app /app\n1000\n1000\n")
    assert docker(image, "run", "-u", "1000:1000", "-e", "HOME=/tmp", ref, show)[1] == "app /tmp\n1000\n1000\n"
    for user, says in (("root", "is refused"), ("0", "is refused"), ("1000:0", "is refused"), ("1001", "is refused"),
                       ("lost", "no such user"), ("app:lost", "no such user or group"), ("", "no such user")):
        status, out, said = docker(image, "run", "-u", user, ref, show)
        assert (status, out, said.count("\n")) == (125, "", 1) and says in said, user


@pytest.mark.container
def test_a_named_run_is_listed_and_killed(image):
    ref, env = image
    words = ("docker", "run", "--name", "web", ref, f"{FILES}; echo up; sleep 600")
    unnamed = docker(image, "run", ref, FILES)[1].split()
    with started(*words, caller=CALLER, env=env) as process:
        assert [read_line(process.stdout).decode().strip() for _ in unnamed] == unnamed, "the lock stays outside"
        assert read_line(process.stdout) == b"up\n"
        assert re.search(r"^web +oci:\S+ ", docker(image, "ps")[1], re.M)
        assert wait_until(lambda: docker(image, "logs", "web")[1].endswith("up\n")), "while it runs"
        status, _, said = docker(image, "run", "--name", "web", ref)
        assert status == 125 and "a run has the name 'web' already" in said
        assert docker(image, "kill", "web")[:2] == (0, "web\n")
        assert process.wait(support.DEADLINE) == -signal.SIGKILL
    assert wait_until(lambda: "web" not in docker(image, "ps")[1])
    status, out, said = docker(image, "kill", "web", "wob")
    assert (status, out) == (1, "") and "no run has the name 'web'" in said and "no run has the name 'wob'" in said
    assert docker(image, "run", "--name", "web", ref, "echo later; echo aside >&2")[0] == 0
    assert docker(image, "logs", "web") == (0, "later\n", "aside\n"), "of the last run of that name"
    status, _, said = docker(image, "logs", "we")
    assert status == 1 and "no output of a run with the name 'we' is kept" in said
    assert docker(image, "rm", "web")[:2] == (0, "web\n")
    assert docker(image, "logs", "web")[0] == 1


@pytest.mark.container
def test_a_run_goes_on_alone_and_is_looked_at_and_stopped(image):
    ref = image[0]
    status, out, said = docker(image, "run", "-d", "--name", "db", ref, "echo up; trap 'echo bye; exit 0' TERM; while :; do sleep 0.1; done")
    assert (status, out) == (0, "db\n"), said
    try:
        assert wait_until(lambda: docker(image, "logs", "db")[1] == "up\n")
        name, *figures = docker(image, "stats", "--no-stream")[1].splitlines()[1].split()
        assert name == "db" and re.fullmatch(r"[\d.]+s [\d.]+[KM]? \d+", " ".join(figures)), figures
        one, = json.loads(docker(image, "inspect", "db")[1])
        assert one["Name"] == "db" and one["Image"] == ref and one["State"]["Running"] and f" {one['State']['Pid']}\n" in docker(image, "ps")[1]
        assert re.search(r"^ Running: 1$", docker(image, "info")[1], re.M)
        assert re.search(r"Version: +\d+\.\d+\.\d+$", docker(image, "version")[1], re.M)
    finally:
        assert docker(image, "stop", "db") == (0, "db\n", "")
    assert "db" not in docker(image, "ps")[1] and docker(image, "inspect", "db")[0] == 1
    status, unnamed, _ = docker(image, "run", "-d", ref, "echo done")
    assert status == 0 and wait_until(lambda: docker(image, "logs", unnamed.strip())[1] == "done\n")
    for words, status, says in ((("-v", "/nonesuch:/x", ref), 125, "nonesuch"), (("-d", "nonesuch:1"), 125, "nonesuch")):
        code, out, said = docker(image, "run", "-d", *words)
        assert (code, out) == (status, "") and says in said, (words, code, out, said)


@pytest.mark.container
def test_what_is_not_there_has_dockers_status(image):
    """1 for names that are not there; what others were named is done."""
    ref, env = image
    for words, says in ((("rm", "none"), "no run has the name 'none'"), (("rmi", "none:1"), "there is no image 'none:1'"), (("rm",), "say which"),
                        (("rmi",), "say which"), (("kill",), "say `docker kill"), (("pull", "oci:/nonesuch"), "there is no '/nonesuch'"),
                        (("pull",), "give one image"), (("logs", "../x"), "no output of a run")):
        status, out, said = docker(image, *words)
        assert (status, out) == (1, "") and says in said, (words, status, said)
    assert docker(image, "rm", "-f", "none") == (0, "", ""), "Docker forgives it then"
    with started("docker", "run", "--name", "long", ref, "echo up; sleep 600", caller=CALLER, env=env) as process:
        assert read_line(process.stdout) == b"up\n"
        status, out, said = docker(image, "rm", "long")
        assert (status, out) == (1, "") and "still goes on" in said
        assert docker(image, "rm", "none", "-f")[0] == 125, "options come first"
        assert docker(image, "rm", "-f", "none", "long") == (0, "long\n", "")
        assert process.wait(support.DEADLINE) == -signal.SIGKILL
    assert docker(image, "logs", "long")[0] == 1
    assert docker(image, "pull", ref)[0] == 0
    status, _, said = docker(image, "rmi", "none:1", ref)
    assert status == 1 and "none:1" in said and "oci:" not in docker(image, "images")[1], "the other one is gone"


@pytest.mark.container
def test_a_number_that_another_process_has_by_now_is_not_signalled(image):
    """The record of a run whose lock a process of its own still holds."""
    _, env = image
    folder = pathlib.Path(env["SANDBOX_RUN_STATE"]) / "docker"
    folder.parent.mkdir(mode=0o700, exist_ok=True)  # another test may have been the first
    folder.mkdir(mode=0o700, exist_ok=True)
    with subprocess.Popen(["sleep", "600"]) as other, open(folder / "gone", "w", encoding="ascii") as record:
        fcntl.flock(record, fcntl.LOCK_EX)
        start = int(pathlib.Path(f"/proc/{other.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        try:
            for number, status in ((start - 1, 1), (0, 1), (start, 0)):
                record.seek(0)
                record.write(f"{other.pid} {number} 1 app:1\n")
                record.truncate()
                record.flush()
                assert docker(image, "kill", "gone")[0] == status, number
                assert status == 0 or other.poll() is None
            assert other.wait(support.DEADLINE) == -signal.SIGKILL
        finally:
            other.kill()


@pytest.mark.container
def test_a_link_named_docker_is_the_command(image, tmp_path):
    link = tmp_path / "docker"
    link.symlink_to(support.SANDBOX_RUN)
    assert docker(image, "pull", image[0], program=link)[0] == 0
    assert "oci:" in docker(image, "images", program=link)[1]
    assert docker(image, "run", image[0], program=link)[:2] == (3, "from the image\n")
    assert docker(image, "rmi", image[0], program=link)[0] == 0
    assert "oci:" not in docker(image, "images", program=link)[1]

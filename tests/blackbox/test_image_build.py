"""Images of Debian packages: built from a repository of the test's own, the same twice."""
import functools
import gzip
import hashlib
import http.server
import json
import os
import subprocess
import threading

import pytest

import oci_images
import support
from support import sandbox_run


class Repository:
    """A flat repository of apt on loopback."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.entries = folder, []
        handler = functools.partial(QuietHandler, directory=str(folder), asked=[])
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.source = f"deb [trusted=yes] http://127.0.0.1:{self.server.server_port} ./"
        self.asked = handler.keywords["asked"]
        # A file of an image opens no private address; the operator does.
        self.env = {"SANDBOX_RUN_REGISTRIES": f"127.0.0.1:{self.server.server_port}"}

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def add(self, name, version, files, depends="", links=()):
        top = self.folder / f"{name}-{version}"
        control = top / "DEBIAN/control"
        control.parent.mkdir(parents=True)
        fields = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: nobody\n{depends}Description: a test\n"
        control.write_text(fields)
        (top / "DEBIAN/postinst").write_text("#!/bin/sh\ntouch /ran\n")
        (top / "DEBIAN/postinst").chmod(0o755)
        for path, content in files.items():
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).write_bytes(content)
            (top / path).chmod(0o755)
            os.utime(top / path, (1700000000, 1700000000))
        for path, target in links:
            (top / path).parent.mkdir(parents=True, exist_ok=True)
            (top / path).symlink_to(target)
        made = self.folder / f"{name}_{version}_all.deb"
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", top, made], check=True, stdout=subprocess.DEVNULL)
        data = made.read_bytes()
        self.entries.append(f"{fields}Filename: ./{made.name}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n")
        (self.folder / "Packages.gz").write_bytes(gzip.compress("\n".join(self.entries).encode()))


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *words, asked, **options):
        self.asked = asked
        super().__init__(*words, **options)

    def log_message(self, *words):
        self.asked.append(words)


@pytest.fixture(name="repository")
def own_repository(folder):
    with Repository(folder / "repository") as running:
        with open(oci_images.BUSYBOX, "rb") as file:
            running.add("tiny-shell", "1.0", {"bin/busybox": file.read()})
        running.add("tiny-app", "2.0-1", {"usr/bin/app": b"#!/bin/sh\necho hello from the package\n"}, "Depends: tiny-shell\n")
        yield running


@pytest.mark.container
def test_an_image_of_packages_is_the_same_twice_and_knows_what_is_behind(caller, folder, repository):
    env = {"HOME": str(folder), **repository.env}
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    file = folder / "tiny.yaml"
    file.write_text(json.dumps({"packages": ["tiny-app=2.0-*"], "sources": [repository.source], "links": ["usr/bin/sh busybox"],
                                "env": ["PATH=/usr/bin"], "command": ["app"]}))
    made = []
    for number in (1, 2):
        env["SANDBOX_RUN_CACHE"] = str(folder / f"cache{number}")
        done = sandbox_run("image", "build", file, "--json", caller=caller, env=env)
        assert done.returncode == 0, done.stderr
        made.append(json.loads(done.stdout))
    assert made[0] == made[1] and made[0]["built"] == "localhost/tiny:latest"
    done = sandbox_run("exec", "--image", "localhost/tiny", caller=caller, env=env)
    assert (done.returncode, done.stdout) == (0, b"hello from the package\n"), done.stderr
    done = sandbox_run("exec", "--image", "localhost/tiny", "--", "sh", "-c", "busybox ls /ran /var/lib/dpkg", caller=caller, env=env)
    assert done.stdout == b"/var/lib/dpkg:\nstatus\n", done
    outdated = functools.partial(sandbox_run, "image", "outdated", "localhost/tiny", file, caller=caller, env=env)
    assert (outdated().returncode, outdated().stdout) == (0, b"")
    repository.add("tiny-app", "2.0-3", {"usr/bin/app": b"new"}, "Depends: tiny-shell\n")
    assert outdated().stdout == b"tiny-app 2.0-1 2.0-3\n"
    assert json.loads(outdated("--json").stdout) == {"outdated": ["tiny-app 2.0-1 2.0-3"]}
    assert not list((folder / "cache2/image/staging").iterdir())


@pytest.mark.container
def test_what_an_image_says_of_its_packages_controls_no_terminal(caller, folder, repository):
    """And a list that is a pipe, or has more names than anybody installs, holds nobody up."""
    env = {"HOME": str(folder), "SANDBOX_RUN_CACHE": str(folder / "cache"), **repository.env}
    image, file = folder / "image", folder / "tiny.yaml"
    (image / "var/lib/dpkg").mkdir(parents=True)
    (image / "var/lib/dpkg/status").write_text("Package: tiny-app\nStatus: install ok installed\nArchitecture: all\n"
                                               "Version: 1.0\x1b[2J\x9b5n\n\n", "latin-1")
    lists = image / "usr/lib/sandbox-run/packages"
    lists.mkdir(parents=True)
    os.mkfifo(lists / "python.list")
    file.write_text(json.dumps({"packages": ["tiny-app"], "sources": [repository.source]}))
    if caller == support.Callers.USER and os.geteuid() == 0:
        subprocess.run(["chown", "-R", str(support.ORDINARY_UID), folder], check=True)
    outdated = functools.partial(sandbox_run, "image", "outdated", image, file, caller=caller, env=env)
    shown = outdated().stdout
    assert shown.startswith(b"tiny-app 1.0") and shown.endswith(b" 2.0-1\n"), outdated()
    assert b"\x1b" not in shown and b"\x9b" not in shown.decode().encode("latin-1", "replace")
    (lists / "python.list").unlink()
    (lists / "python.list").write_text("".join(f"p{number}\n" for number in range(100000)))
    done = outdated()
    assert done.returncode != 0 and b"names more than 1000 packages of python" in done.stderr


@pytest.mark.container
def test_what_cannot_be_built_is_said_and_leaves_nothing(root, folder, repository):
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder), **repository.env}
    file = folder / "bad.yaml"
    for recipe, words in (({"packages": ["none-such"]}, b"Unable to locate package none-such"),
                          ({"packages": ["tiny-app=9"]}, b"Version '9' for 'tiny-app' was not found"),
                          ({"packages": ["--force-yes"]}, b"is no package"), ({"packages": []}, b"packages"),
                          ({"packages": ["tiny-app"], "links": ["/etc/x y"]}, b"is no link"),
                          ({"packages": ["tiny-app"], "deps": ["x@1"]}, b"packages of a 'language'"),
                          ({"packages": ["tiny-app"], "language": "sh", "deps": ["x@1"]}, b"sh has no package registry"),
                          ({"packages": ["tiny-app"], "language": "golang", "deps": ["x@1"]}, b"write 'go'")):
        file.write_text(json.dumps({"sources": [repository.source], **recipe}))
        done = sandbox_run("image", "build", file, caller=root, env=env)
        assert done.returncode == 125 and words in done.stderr, (recipe, done.stderr)
    done = sandbox_run("image", "build", "cobol", caller=root, env=env)
    assert done.returncode == 127 and b"go, java, python, rust, typescript are known" in done.stderr
    assert b"--tag names one image" in sandbox_run("image", "build", "all", "--tag", "x", caller=root, env=env).stderr
    assert not [path for part in ("staging", "root", "layer") for path in (folder / "cache/image" / part).iterdir()]


@pytest.mark.container
def test_the_sources_of_a_file_open_no_private_address(root, folder, repository):
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)}
    file = folder / "tiny.yaml"
    for host in ("127.0.0.1", "localhost"):
        source = repository.source.replace("127.0.0.1", host)
        file.write_text(json.dumps({"packages": ["tiny-shell"], "sources": [source]}))
        done = sandbox_run("image", "build", file, caller=root, env=env)
        assert done.returncode == 125 and b"SANDBOX_RUN_REGISTRIES" in done.stderr, done.stderr
    assert not repository.asked
    done = sandbox_run("image", "build", file, caller=root, env={**env, "SANDBOX_RUN_REGISTRIES": source.split("/")[2]})
    assert done.returncode == 0 and repository.asked, done.stderr


@pytest.mark.container
def test_a_hostile_package_reads_nothing_of_the_installer(caller, folder, repository):
    """Where packages are unpacked there are neither the settings of apt nor variables of the caller nor a network."""
    env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder), **repository.env,
           "https_proxy": "http://somebody:a-password@127.0.0.1:3128"}
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    file = folder / "bad.yaml"
    repository.add("base-evil", "1", {"usr/share/doc/x": b"x"},
                   links=[("usr/share/base-passwd/passwd.master", "/proc/self/environ"),
                          ("usr/share/base-passwd/group.master", "/tmp/apt/first")])
    file.write_text(json.dumps({"packages": ["base-evil", "tiny-shell"], "sources": [repository.source], "env": ["PATH=/usr/bin"]}))
    done = sandbox_run("image", "build", file, caller=caller, env=env)
    assert done.returncode == 0, done.stderr
    done = sandbox_run("exec", "--image", "localhost/bad", "--", "busybox", "cat", "/etc/passwd", "/etc/group", caller=caller, env=env)
    said = done.stdout + done.stderr
    assert b"LC_ALL=C" in done.stdout, "the link was not followed, so nothing was tried"
    assert b"a-password" not in said and b"APT_CONFIG" not in said and b"Dir::Etc" not in said, said


WORDS = """
name: words
about: a language whose packages are files
extensions: [.words]
mains: [main.words]
binaries: [/usr/bin/busybox]
package: busybox
source: main.words
env: ["DEPS=${deps}"]
install:
  run: ["${binary}", sh, -c, 'for word; do echo "$word" > "${deps}/$(echo "$word" | busybox cut -d@ -f1)"; done', sh]
  network: true
run: ["${binary}", sh, "${source}"]
selftest: {code: echo x, stdout: "x\\n", exit: 0}
"""


def build_twice(file, folder, caller, env):
    """In two stores, with the same id; `env` names the second."""
    ids = []
    for number in (1, 2):
        env["SANDBOX_RUN_CACHE"] = str(folder / f"cache{number}")
        done = sandbox_run("image", "build", file, "--json", caller=caller, env=env)
        assert done.returncode == 0, done.stderr
        ids.append(json.loads(done.stdout)["id"])
    assert ids[0] == ids[1]


@pytest.mark.container
def test_packages_of_a_language_are_there_without_being_asked_for(caller, folder, repository):
    env = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config"), **repository.env}
    languages = folder / "config/sandbox-run/languages"
    languages.mkdir(parents=True)
    (languages / "words.yaml").write_text(WORDS)
    if caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    file = folder / "own.yaml"
    file.write_text(json.dumps({"packages": ["tiny-shell"], "sources": [repository.source], "language": "words",
                                "deps": ["greeting@1", "answer@42"], "links": ["usr/bin/sh busybox", "usr/bin/true busybox"]}))
    build_twice(file, folder, caller, env)
    run = functools.partial(support.result_of, "run", "--image", "localhost/own", "-l", "words", "-c",
                            "busybox ls $DEPS; busybox cat $DEPS/*", caller=caller, env=env)
    assert run()["stdout"] == "answer\ngreeting\nanswer@42\ngreeting@1\n"
    assert run("--dep", "other@3")["stdout"] == "other\nother@3\n", "what the request names takes their place"
    shown = sandbox_run("exec", "--image", "localhost/own", "--", "busybox", "cat", "/usr/lib/sandbox-run/packages/words.list",
                        caller=caller, env=env)
    assert shown.stdout == b"greeting@1\nanswer@42\n", shown
    # The Debian packages below are one layer of both images, and are not unpacked again.
    assert len(list((folder / "cache2/image/layer").iterdir())) == 2


@pytest.mark.container
def test_a_python_of_packages_is_compiled_and_the_same_twice(any_caller, folder, repository):
    """Without the packages' scripts, and as they would do it: a module that a program changes is compiled again."""
    env = {"HOME": str(folder), **repository.env}
    files = {info.name: content for info, content in oci_images.python_members("usr")}
    [home] = {name.rpartition("/")[0] for name in files if name.endswith("/os.py")}
    files[f"{home}/tests/never.py"] = files[f"{home}/useful.py"] = b"WORD = {'a', 'b', 'c'} and frozenset('abc')\n"
    files[f"{home}/broken.py"] = b"def (:\n"
    repository.add("tiny-python", "3", files)
    file = folder / "python.yaml"
    file.write_text(json.dumps({"packages": ["tiny-python", "tiny-shell"], "sources": [repository.source],
                                "links": ["usr/bin/sh busybox"], "env": ["PATH=/usr/bin"]}))
    build_twice(file, folder, any_caller, env)
    line = ("python3 -B -v -c 'import json, useful' 2>&1 | busybox grep -c 'code object from /.*[.]py$'; busybox ls /{0}/tests /{0}/__pycache__ | "
            "busybox grep -c 'never.*pyc\\|broken'; echo WORD = 2 >> /{0}/useful.py; python3 -B -c 'import useful; print(useful.WORD, useful.__spec__.cached)'")
    done = sandbox_run("exec", "--image", "localhost/python", "--", "sh", "-c", line.format(home), caller=any_caller, env=env)
    assert done.stdout.decode().split() == ["0", "0", "2", done.stdout.decode().split()[-1]] and f"/{home}/__pycache__/useful." in done.stdout.decode(), done


def test_an_image_brings_packages_of_its_own_files_only(root, folder):
    """A link of the image is followed inside it: the host's files are no packages."""
    secret = folder / "secret"
    secret.mkdir()
    (secret / "word").write_text("of the host\n")
    layout = oci_images.Layout(folder / "layout")
    ref = layout.add([oci_images.archive([*oci_images.busybox_members(), oci_images.directory("usr/lib/sandbox-run/packages"),
                                          oci_images.link("usr/lib/sandbox-run/packages/words", str(secret))])],
                     Env=["PATH=/bin"])
    (folder / "words.yaml").write_text(WORDS.replace("/usr/bin", "/bin"))
    result = support.result_of("run", "--language-file", folder / "words.yaml", "--image", ref, "-l", "words", "-c",
                               'echo "<$DEPS>"; cat /deps/word', caller=root,
                               env={"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)})
    assert result["stdout"] == "<>\n", result

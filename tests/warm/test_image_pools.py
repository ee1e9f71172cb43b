"""Sandboxes of an image that the engine made ahead: as cold ones, apart from each other, gone with the image."""
import contextlib
import os
import pathlib
import subprocess

import pytest

import delegation
import engine as engines
import oci_images
import support
from oci_images import archive, link, member
from test_same_results import differences, normal

GONE_S = 30
# A compiler that is a script: what it was called with becomes the program.
COMPILER = b"""#!/bin/sh
for word; do [ "$before" = -o ] && out=$word; before=$word; done
echo "#!/bin/sh" > "$out"; echo "echo made by $0 in $PWD; ls -ld /build /build/*; touch /build/x" >> "$out"; chmod +x "$out"
"""


class Images:
    """A layout, and an engine with a cache of its own."""

    def __init__(self, folder, caller):
        self.folder = folder
        self.layout = oci_images.Layout(folder / "layout")
        self.cache = folder / "cache"
        self.env = {"SANDBOX_RUN_CACHE": str(self.cache), "HOME": str(folder)}
        self.engine = engines.Engine(folder / "engine", caller, ["--warm", "", "--park-min", "2"], env=self.env)

    def add(self, tag, *members, **config):
        config.setdefault("Env", ["PATH=/bin"])
        return self.layout.add([archive([*oci_images.busybox_members(), *members])], tag, **config)

    def words(self, *words):
        done = support.sandbox_run(*words, caller=self.engine.caller, env={**self.env, **self.engine.variables()})
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def shell(self, ref, line, *options, **kwargs):
        return self.engine.result_of("exec", *options, "--image", ref, "--", "sh", "-c", line, env=self.env, **kwargs)

    def parked(self, ref, line, *options, **kwargs):
        return self.engine.parked(lambda: self.shell(ref, line, *options, **kwargs))

    def pools(self):
        return [pool for pool in self.engine.status()["pools"] if pool["name"].startswith("command run ")]

    def roots(self):
        return list((self.cache / "image/root").iterdir())


def callers():
    """Also the ordinary user, with control groups of its own, where this machine gives it none."""
    found = engines.somebody()
    return [*found, support.Callers.USER] if found == [support.Callers.ROOT] and delegation.is_possible() else found


@pytest.fixture(name="images", scope="module", params=callers())
def image_place(request, place):
    folder = place / f"images-{request.param}"
    folder.mkdir()
    images = Images(folder, request.param)
    if request.param == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    with contextlib.nullcontext() if request.param in engines.callers() else delegation.of_the_user(), images.engine:
        yield images


SURROUNDINGS = "id; pwd; env; stat -c '%n %u %g %a %F' /* /dev/* /app/*; cat /etc/hosts /etc/passwd; cut -d' ' -f5- < /proc/self/mountinfo"
LINES = {"surroundings": (SURROUNDINGS,), "failure": ("echo no >&2; exit 3",), "input": ("cat; touch /app/x /home/x; ls /app /home",),
         "refused": ("touch /x; touch /proc/x; mkdir /tmp/a && cat /tmp/a",), "killed": ("kill -9 $$",),
         "read-only": ("touch /app/x /home/x /top; touch /work/x && ls /work; " + SURROUNDINGS, "--read-only"),
         "new directory": ("pwd; touch x && ls -ld . x", "--workdir", "/app/new/one"),
         "limits": ("cat /dev/zero > /app/much", "--disk", "4m"), "timeout": ("cat /dev/zero > /dev/null", "--timeout", "300ms")}


def test_a_run_in_an_image_has_the_same_result(images):
    ref = images.add("same", *[oci_images.directory(f"{name}") for name in ("home", "media", "mnt", "srv", "root", "run")],
                     member("top", b"a file\n"), link("bin/cut", "busybox"), link("bin/pwd", "busybox"), WorkingDir="/app", User="app")
    for name, (line, *options) in LINES.items():
        cold = images.shell(ref, line, "--cold", *options, stdin=b"given")
        warm = images.parked(ref, line, *options, stdin=b"given")
        same = [normal(result) for result in (cold, warm)]
        for result in same:  # its own user outside, and the numbers of file systems
            result["stdout"] = "\n".join(part.partition(",uid=")[0].partition(" - ")[0] for part in result["stdout"].split("\n"))
        assert differences(*same) == [], (name, cold, warm)
    # No parked sandbox has a directory at its top that the image lacks.
    assert images.shell(ref, "pwd; touch x && ls", "--workdir", "/new/top")["stdout"] == "/new/top\nx\n"


def test_a_compiled_program_of_an_image_is_parked(images):
    ref = images.add("compiler", member("bin/gcc", COMPILER, mode=0o755))
    code = iter(range(1000))

    def run(*options):
        return images.engine.result_of("run", *options, "--image", ref, "--lang", "c", "--code", f"// {next(code)}", env=images.env)

    cold, warm = run("--cold"), images.engine.parked(run)
    assert "made by /bin/gcc" in warm["stdout"] and "ead-only" in warm["stderr"], warm
    assert (cold["outcome"], cold["exit_code"]) == (warm["outcome"], warm["exit_code"])


def test_a_program_of_an_image_is_parked_with_the_tools_of_the_image(images):
    """No interpreter of it is shared: the program starts its own."""
    ref = images.add("python", *oci_images.python_members(), Env=["PATH=/opt/tools/bin:/bin"])
    for code in ("import sys, os; print(sys.executable, sys.argv, os.getpid(), os.environ)", "1 / 0", "x = ("):
        def run(*options, code=code):
            return images.engine.result_of("run", *options, "--image", ref, "-l", "python", "-c", code, env=images.env)

        cold, warm = run("--cold"), images.engine.parked(run)
        assert differences(normal(cold), normal(warm)) == [], (cold, warm)
    (pool,) = [pool for pool in images.engine.status()["pools"] if pool["name"].startswith("python run ")]
    assert pool["park"] == "shell", pool


def test_no_run_finds_what_another_changed_in_its_image(images):
    """One ended, one is beside it; each attack finds the mark where the mark is."""
    ref = images.add("apart")
    look = "cat /app/mark /etc/mark /home/mark /.cow/*/upper/mark /.cow/0/* /proc/[0-9]*/root/app/mark " \
           "/proc/1/cwd/app/mark /work/../app/mark; ls /.cow /app; cat /app/data"
    leave = "for d in app etc; do echo MARK > /$d/mark; done; rm /app/data; "
    assert "MARK" in images.parked(ref, leave + look)["stdout"]
    assert "MARK" not in images.parked(ref, look)["stdout"]
    words = support.command("exec", "--image", ref, "--", "sh", "-c", leave + "echo left; cat", caller=images.engine.caller)
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=support.environment({**images.env, **images.engine.variables()})) as beside:
        assert beside.stdout.readline() == b"left\n"
        found = images.parked(ref, look)
        beside.communicate(timeout=support.DEADLINE)
    assert "MARK" not in found["stdout"] and found["stdout"].endswith("data\nfirst\n"), found
    assert str(images.cache) not in images.parked(ref, "cat /proc/self/mountinfo /proc/self/mounts")["stdout"]


def test_a_run_gets_no_sandbox_of_another_image(images):
    """Also not under the same name, after it was pulled anew."""
    refs = [images.add(f"image{number}", member("app/number", b"%d\n" % number)) for number in (1, 2)]
    for _ in range(3):
        assert [images.parked(ref, "cat /app/number")["stdout"] for ref in refs] == ["1\n", "2\n"]
    images.layout.manifests = [one for one in images.layout.manifests if "image1" not in str(one["annotations"])]
    images.add("image1", member("app/number", b"other\n"))
    images.words("image", "pull", refs[0])
    assert images.shell(refs[0], "cat /app/number")["stdout"] == "other\n"
    assert images.parked(refs[0], "cat /app/number")["stdout"] == "other\n"


def test_an_image_can_be_removed_while_sandboxes_of_it_wait(images):
    before = set(images.roots())
    ref = images.add("removed", member("app/of", b"removed\n"))
    images.parked(ref, "cat /app/of")
    (root,) = set(images.roots()) - before
    assert images.engine.wait_full() and any(root.name.startswith(pool["name"].split()[-1]) for pool in images.pools())
    images.words("image", "rm", ref)
    assert not root.exists()
    assert engines.within(GONE_S, lambda: not any(root.name.startswith(pool["name"].split()[-1]) for pool in images.pools()),
                          engines.ASK_S)
    # Nothing keeps the files on the disk: no process of the engine's has one open or mounted.
    for pid in engines.descendants(images.engine.process.pid):
        with contextlib.suppress(OSError):
            assert root.name not in pathlib.Path(f"/proc/{pid}/mountinfo").read_text()
    assert images.shell(ref, "cat /app/of")["stdout"] == "removed\n"
    assert images.parked(ref, "cat /app/of")["stdout"] == "removed\n"


def test_a_session_in_an_image_goes_on_when_the_image_is_removed(images):
    """Its files are its own; the image itself is gone from the store when the session is."""
    ref = images.add("session", *oci_images.python_members(), Env=["PATH=/opt/tools/bin:/bin"])
    before = set(images.roots())
    session = images.words("session", "create", "python", "--image", ref).strip()
    try:
        images.words("session", "exec", session, "--code", "import sys; x = sys.executable")
        assert images.words("session", "exec", session, "--code", "print(x)") == "/opt/tools/bin/python3\n"
        assert images.parked(ref, "cat /app/data")["stdout"] == "first\n"
        images.words("image", "rm", ref)
        code = "import os; print(x, os.path.exists('/app/data')); open('/app/new', 'w').close()"
        assert images.words("session", "exec", session, "--code", code) == "/opt/tools/bin/python3 True\n"
    finally:
        images.words("session", "close", session)
    images.words("image", "prune")
    assert set(images.roots()) <= before


def test_a_directory_is_never_made_ahead(images):
    """It may change at any time."""
    top = images.folder / "rootfs"
    (top / "bin").mkdir(parents=True)
    (top / "bin/busybox").write_bytes(pathlib.Path(oci_images.BUSYBOX).read_bytes())
    (top / "bin/busybox").chmod(0o755)
    for _ in range(3):
        result = images.engine.result_of("exec", "--image", str(top), "--", "/bin/busybox", "echo", "own", env=images.env)
        assert (result["stdout"], result["startup"]) == ("own\n", "cold")

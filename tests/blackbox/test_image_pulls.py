"""Pulls that are killed and begun again, what they show meanwhile, and what many images cost on the disk."""
import fcntl
import functools
import gzip
import os
import random
import re
import signal

import pytest

import oci_images
import support
from oci_images import archive, member
from screen import shown
from waiting import started, wait_until

pytestmark = pytest.mark.group("pulls", weight=7)
PLACE, PREFIX = "/var/tmp", "sandbox-run-pull-"
ROUNDS = 6


class Place:
    """An image of two layers in a slow registry, and a cache of the test's own."""

    def __init__(self, folder, caller):
        self.folder, self.caller = folder, caller
        self.layout = oci_images.Layout(folder / "layout")
        noise = random.Random(1).randbytes(3 << 20)
        self.layers = [archive(oci_images.busybox_members()), archive([member("opt/noise", noise)])]
        self.add("1")
        self.digests = [one["digest"] for one in self.layout.read_manifest("1")["layers"]]
        self.env = {"SANDBOX_RUN_CACHE": str(folder / "cache"), "HOME": str(folder)}
        self.words = ()

    def add(self, tag):
        """The same layers in another image."""
        self.layout.add(self.layers, tag, pack=functools.partial(gzip.compress, mtime=0), Env=["PATH=/bin", f"TAG={tag}"])

    def use(self, registry, name="app:1"):
        self.words = ("image", "pull", "--plain-http", f"{registry.address}/{name}")

    def pull(self):
        done = support.sandbox_run(*self.words, caller=self.caller, env=self.env)
        assert done.returncode == 0, done.stderr
        shown = support.sandbox_run("exec", "--image", self.words[-1], "--", "wc", "-c", "/opt/noise", caller=self.caller,
                                    env=self.env)
        assert shown.stdout.split()[0] == str(3 << 20).encode(), shown

    def size(self):
        """Bytes of what is being fetched, unpacked and kept."""
        tops = [self.folder / "cache", *[f"{PLACE}/{name}" for name in pull_dirs()]]
        return sum(_size(os.path.join(where, name)) for top in tops for where, _, names in os.walk(top) for name in names)


def _size(path):
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def pull_dirs():
    return {name for name in os.listdir(PLACE) if name.startswith(PREFIX)}


def is_free(name):
    """No pull uses the directory."""
    fd = os.open(f"{PLACE}/{name}", os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(fd)


@pytest.fixture(name="place")
def pull_place(folder, any_caller):
    place = Place(folder, any_caller)
    if any_caller == support.Callers.USER and os.geteuid() == 0:
        os.chown(folder, support.ORDINARY_UID, support.ORDINARY_UID)
    return place


def kill_in_the_middle(place, registry):
    """Ends a pull that has the first layer and half of the second one; returns its directory."""
    first, second = place.digests
    before = pull_dirs()
    half = registry.hold(second)
    with started(*place.words, caller=place.caller, env=place.env) as process:
        assert half.wait(support.DEADLINE)
        made = next(iter(pull_dirs() - before))
        whole = f"{PLACE}/{made}/layout/blobs/sha256/{first.partition(':')[2]}"
        assert wait_until(lambda: os.path.exists(whole))
        process.send_signal(signal.SIGKILL)
        process.wait(support.DEADLINE)
    registry.release(second)
    assert wait_until(lambda: is_free(made))
    return made


@pytest.mark.container
def test_a_killed_pull_goes_on_where_it_was_and_leaves_nothing(place):
    with oci_images.SlowRegistry(place.layout) as registry:
        place.use(registry)
        made = kill_in_the_middle(place, registry)
        place.pull()
        assert [registry.fetched.count(digest) for digest in place.digests] == [1, 2]
        assert made not in pull_dirs()

        # What nobody goes on with is removed by the next pull of another image, or by hand.
        place.add("2")
        place.use(registry, "other:2")
        made = kill_in_the_middle(place, registry)
        place.use(registry)
        place.pull()
        assert made not in pull_dirs()
        place.use(registry, "other:2")
        made = kill_in_the_middle(place, registry)
        assert support.sandbox_run("image", "prune", caller=place.caller, env=place.env).returncode == 0
        assert made not in pull_dirs()


@pytest.mark.container
def test_a_pull_that_is_killed_at_any_moment_leaves_nothing_half(place):
    seed = random.randrange(1 << 32)
    numbers = random.Random(seed)
    with oci_images.SlowRegistry(place.layout) as registry:
        place.use(registry)
        for _ in range(ROUNDS):
            enough = numbers.randrange(10 << 20)  # bytes of parts, then of files
            with started(*place.words, caller=place.caller, env=place.env) as process:
                wait_until(lambda: process.poll() is not None or place.size() >= enough)  # pylint: disable=cell-var-from-loop
                process.kill()
                process.wait(support.DEADLINE)
            layers = place.folder / "cache/image/layer"
            for layer in layers.iterdir() if layers.exists() else ():
                assert [path for path in layer.rglob("*") if path.name in ("noise", "busybox")], f"half a layer, seed {seed}"
        place.pull()
    # A process of the last one that was killed may still have ended while the pull looked.
    assert wait_until(lambda: all(is_free(name) for name in pull_dirs())), seed
    assert support.sandbox_run("image", "prune", caller=place.caller, env=place.env).returncode == 0
    owner = os.stat(place.folder).st_uid
    assert not [name for name in pull_dirs() if os.stat(f"{PLACE}/{name}").st_uid == owner], seed
    assert not list((place.folder / "cache/image/staging").iterdir()), seed


def test_a_terminal_sees_how_far_a_pull_is(place):
    with oci_images.SlowRegistry(place.layout) as registry:
        place.use(registry)
        half = registry.hold(place.digests[1])
        with shown(*place.words, caller=place.caller, env=place.env) as screen:
            assert half.wait(support.DEADLINE)
            screen.wait(lambda: re.search(r"fetching \S+: [1-9] parts whole, [1-9]", screen.text))
            registry.release(place.digests[1])
            assert screen.end() == 0
            text = screen.bytes
            assert screen.lines[-1] == "" and "parts whole" not in screen.text and "of 3.0 MiB" not in screen.text
    assert re.search(rb"layer 2 of 2: [\d.]+ of 3\.0 MiB", text), text


def test_twenty_images_that_share_a_layer_have_it_once_on_the_disk(place):
    refs = [place.layout.add([*place.layers, archive([member(f"opt/own{i}", b"x" * 5000)])], f"n{i}") for i in range(20)]
    for ref in refs:
        assert support.sandbox_run("image", "pull", "--quiet", ref, caller=place.caller, env=place.env).returncode == 0
    files = {path.lstat().st_ino: path.lstat().st_blocks * 512
             for path in (place.folder / "cache/image").rglob("*") if path.is_file() and not path.is_symlink()}
    shared = (3 << 20) + os.path.getsize(oci_images.BUSYBOX)
    assert sum(files.values()) < shared + 20 * 32768, "each image has the shared files once more"

"""Archives of workspaces, which tar reads and writes in a sandbox: there and back, compression, hostile ones."""
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import tarfile
import tempfile

import pytest

import machine_gives
import no_userns
import support
from workspaces import Workspaces, error_of

MIB = 1 << 20
PACKERS = {"gz": "gzip", "zst": "zstd", "xz": "xz", "bz2": "bzip2"}


@pytest.fixture
def spaces(folder, caller, request):
    """One test makes a machine of the lowest tier by itself; the others need what tar can do above it."""
    if request.function is not test_it_works_where_no_namespace_can_be_made:
        machine_gives.skip_if(support.lacks(caller))
    return Workspaces(folder, caller)


@pytest.fixture
def target(spaces):
    """A directory that the caller can write to."""
    path = spaces.folder / "out"
    path.mkdir()
    os.chown(path, spaces.owner, -1)
    return path


def export(spaces, name):
    done = spaces.command("export", name)
    assert (done.returncode, done.stderr) == (0, b""), done
    return done.stdout


def opened(data):
    return tarfile.open(fileobj=io.BytesIO(data))


# ---- There and back

ODD = """
import os
os.mkdir("d"); os.chmod("d", 0o750)
for name in [b"new\\nline", b"esc\\x1b[31m", b"\\xff\\xfe", b"-rf", b" ", b"'\\"", "\\u202etxt".encode(), b"n" * 255]:
    with open(b"d/" + name, "wb") as file:
        file.write(name)
os.symlink("/etc/passwd", "d/link"); os.symlink("x" * 300, "long"); os.symlink("l", "--checkpoint=1")
os.makedirs("/".join(["deep" * 10] * 8))
with open("sparse", "wb") as file:
    file.truncate(5 << 20); file.seek(3 << 20); file.write(b"x")
os.chmod("sparse", 0o755)
os.utime("d", (5, 5.25)); os.utime("long", (-5, -5), follow_symlinks=False)
"""


def test_there_and_back_with_odd_names(spaces):
    result = spaces.result("one", ODD, language="python")
    assert result["success"], result
    exported = export(spaces, "one")
    archive = spaces.folder / "archive.tar"
    archive.write_bytes(exported)
    assert spaces.command("import", "two", archive).returncode == 0
    assert spaces.entries("two") == spaces.entries("one") and len(spaces.entries("one")) == 21
    assert spaces.tree("two").joinpath("d").stat().st_mtime == 5.25
    assert export(spaces, "two") == exported
    for word in ([], ["-"]):
        piped = spaces.command("import", f"three{len(word)}", *word, stdin=exported)
        assert piped.returncode == 0 and b"imported three" in piped.stderr
    assert spaces.shell("three0", "stat -c %s sparse; du -k sparse | cut -f 1") == "5242880\n4\n"


def test_an_archive_is_the_same_each_time_and_says_nothing_of_owners(spaces):
    spaces.shell("w", "mkdir b a; for i in 3 1 2; do echo $i > a/$i; done; ln -s a l; ln a/1 a/same; echo 9 > B")
    first = export(spaces, "w")
    assert export(spaces, "w") == first
    with opened(first) as archive:
        members = archive.getmembers()
        assert [member.name for member in members if not member.name.startswith("main")] == [
            "B", "a", "a/1", "a/2", "a/3", "a/same", "b", "l"]
        assert {(member.uid, member.gid, member.uname, member.gname) for member in members} <= {
            (0, 0, "", ""), (0, 0, "root", "root")}
        assert archive.extractfile("a/same").read() == b"1\n" and archive.getmember("l").linkname == "a"


def test_other_programs_read_it(spaces):
    spaces.result("w", ODD, language="python")
    exported = export(spaces, "w")
    with opened(exported) as archive:
        content = archive.extractfile("sparse").read()
    assert len(content) == 5 * MIB and content.strip(b"\0") == b"x"
    if shutil.which("bsdtar"):
        listed = subprocess.run(["bsdtar", "-tf", "-"], input=exported, check=True,
                                stdout=subprocess.PIPE).stdout
        assert b"sparse\n" in listed
    cpio = subprocess.run(["cpio", "-t", "--quiet"], input=exported, check=False,
                          stdout=subprocess.PIPE).stdout
    assert b"sparse" in cpio


def test_an_empty_workspace_has_an_empty_archive(spaces):
    assert spaces.run("exec", "--workspace", "w", "--", "true").returncode == 0
    exported = export(spaces, "w")
    with opened(exported) as archive:
        assert archive.getnames() == []
    assert spaces.command("import", "v", stdin=exported).returncode == 0
    assert spaces.list()["v"]["used_inodes"] == 0


def test_what_locks_its_owner_out_is_exported(spaces):
    """Its modes then let the owner in: tar has no more rights than that.  The workspace keeps its own."""
    spaces.shell("w", "mkdir -p d/e; echo 1 > d/e/f; chmod 0 d/e/f; echo 2 > g; chmod 200 g; chmod 0 d/e d")
    for _ in range(2):
        with opened(export(spaces, "w")) as archive:
            assert {name: oct(archive.getmember(name).mode)
                    for name in ("d", "d/e", "d/e/f", "g")} == {
                "d": "0o700", "d/e": "0o700", "d/e/f": "0o400", "g": "0o600"}
            assert archive.extractfile("d/e/f").read() == b"1\n"
    assert spaces.shell("w", "stat -c %a d g; chmod 700 d; stat -c %a d/e; chmod 700 d/e; stat -c %a d/e/f") == (
        "0\n200\n0\n0\n")


def test_an_archive_goes_to_a_file_and_replaces_none_in_vain(spaces, target):
    file = target / "w.tar"
    spaces.shell("w", "echo 1 > f")
    assert spaces.command("export", "w", file).returncode == 0
    before = file.read_bytes()
    assert spaces.command("export", "missing", file).returncode == 127
    assert file.read_bytes() == before and [path.name for path in target.iterdir()] == ["w.tar"]
    with tarfile.open(file) as archive:
        assert archive.extractfile("f").read() == b"1\n"
        assert {(member.uid, member.gid) for member in archive} == {(0, 0)}
    assert spaces.command("export", "w", "/dev/null").returncode == 0


def test_a_slow_reader_gets_all_of_it(spaces):
    """More than is ever queued for a reader: tar has to wait."""
    spaces.shell("w", "head -c 80000000 /dev/zero | tr '\\0' x > f", "--disk", "100m")
    words = support.command("workspace", "export", "w", caller=spaces.caller)
    slow = subprocess.run(["sh", "-c", '"$@" | (sleep 1; cat) | sha256sum', "sh", *words],
                          check=True,
                          env=support.environment(spaces.env), stdout=subprocess.PIPE,
                          timeout=support.DEADLINE)
    whole = subprocess.run(["sha256sum"], input=export(spaces, "w"), check=True,
                           stdout=subprocess.PIPE)
    assert slow.stdout == whole.stdout


def test_a_reader_that_leaves_is_told(spaces):
    spaces.shell("w", "head -c 20000000 /dev/urandom > f", "--disk", "32m")
    words = support.command("workspace", "export", "w", caller=spaces.caller)
    done = subprocess.run(["sh", "-c", '"$@" | head -c 10', "sh", *words], check=True,
                          stderr=subprocess.PIPE,
                          env=support.environment(spaces.env), stdout=subprocess.PIPE,
                          timeout=support.DEADLINE)
    assert len(done.stdout) == 10 and b"not whole" in done.stderr


# ---- Formats

def test_what_other_programs_pack_is_read(spaces):
    source = spaces.folder / "source"
    source.mkdir()
    (source / "f").write_text("text")
    (source / ("n" * 150)).write_text("long")
    os.link(source / "f", source / "same")
    (source / "l").symlink_to("f")
    with open(source / "sparse", "wb") as file:
        file.truncate(MIB)
    for number, form in enumerate(("v7", "ustar", "gnu", "pax", "posix")):
        without = ["--exclude=nnn*"] if form in ("ustar", "v7") else ["--sparse"]  # which cannot have such a name
        packed = subprocess.run(["tar", "-C", source, f"--format={form}", *without, "-cf", "-",
                                 "."],
                                check=True, stdout=subprocess.PIPE).stdout
        done = spaces.command("import", f"w{number}", stdin=packed)
        assert done.returncode == 0, done.stderr
        entries = spaces.entries(f"w{number}")
        assert entries[b"f"][1] == entries[b"same"][1] == b"text" and entries[b"l"][1] == b"f"
        assert spaces.tree(f"w{number}").joinpath("f").stat().st_nlink == 1
        assert len(entries[b"sparse"][1]) == MIB


@pytest.mark.parametrize("suffix", PACKERS)
def test_compressed_archives_are_read_and_written(spaces, target, suffix):
    packed = hostile(("d/f", FILE, "", b"text" * 1000))
    squeezed = subprocess.run([PACKERS[suffix], "-c"], input=packed, check=True,
                              stdout=subprocess.PIPE).stdout
    assert spaces.command("import", "piped", stdin=squeezed).returncode == 0
    (target / "misnamed").write_bytes(squeezed)
    assert spaces.command("import", "file", target / "misnamed").returncode == 0
    assert spaces.entries("piped") == spaces.entries("file") and spaces.entries("file")[b"d/f"][1] == b"text" * 1000
    for name in (f"x.tar.{suffix}", f"x.t{suffix}" if suffix != "gz" else "x.tgz"):
        assert spaces.command("export", "file", target / name).returncode == 0
        plain = subprocess.run([PACKERS[suffix], "-dc"], input=(target / name).read_bytes(),
                               check=True,
                               stdout=subprocess.PIPE).stdout
        assert plain == export(spaces, "file")


def test_zip_is_no_tar_archive(spaces, target):
    done = spaces.command("import", "w", stdin=b"PK\x03\x04" + bytes(600))
    assert done.returncode == 125 and b"zip" in done.stderr and b".tar.zst" in done.stderr
    spaces.shell("w", ":")
    assert "zip" in error_of(spaces.command("export", "w", target / "w.zip"))
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("program", ["tar", "zstd"])
def test_a_program_that_the_host_lacks_is_named(folder, root, program):
    """It is covered, for this command alone."""
    spaces = Workspaces(folder, root)
    packed = subprocess.run(["zstd", "-c"], input=hostile(("f", FILE, "", b"x")), check=True,
                            stdout=subprocess.PIPE).stdout
    words = ["unshare", "--mount", "sh", "-c",
             f'mount --bind /dev/null /usr/bin/{program} && exec "$@"', "sh",
             *support.command("workspace", "import", "w", caller=root)]
    done = subprocess.run(words, input=packed, env=support.environment(spaces.env),
                          stderr=subprocess.PIPE,
                          check=False, timeout=support.DEADLINE)
    assert f"need the program '{program}'" in error_of(done) and spaces.list() == {}


def test_archives_that_are_cut_are_told(spaces):
    whole = hostile(("f", FILE, "", b"x" * 2000))
    squeezed = gzip.compress(hostile(("f", FILE, "", random.Random(1).randbytes(100000))))
    for data, says in ((b"", "empty"), (whole[:1000], "Unexpected EOF"),
                       (b"x" * 600, "not look like a tar archive"),
                       (squeezed[:5000], "nexpected"), (b"\x1f\x8b\x08" + bytes(600), "gzip"),
                       (b"\x28\xb5\x2f\xfd" + bytes(600), "stdin")):
        done = spaces.command("import", "w", stdin=data)
        assert done.returncode == 125 and says in done.stderr.decode(), (says, done)
    assert spaces.list() == {}


# ---- Hostile ones

FILE, LINK, HARD, DIR, DEVICE, PIPE = b"0", b"2", b"1", b"5", b"3", b"6"
OUT = "sbr-out"  # in the folder of the test, where the caller may write


def hostile(*members):
    """An archive of (name, type, link, content)."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, kind, link, content in members:
            member = tarfile.TarInfo(name)
            member.type, member.linkname, member.size, member.mode = kind, link, len(content), 0o6777
            archive.addfile(member, io.BytesIO(content))
    return data.getvalue()


# {TOP} is the real directory of the test.
REFUSED = {
    "dots": ([("a/../../../../../..{TOP}/sbr-out", FILE, "", b"x")], "'..'"),
    "dots-only": ([("..", DIR, "", b"")], "'..'"),
    "dots-of-a-link": ([("l", LINK, "../../../../..{TOP}", b""), ("l/sbr-out", FILE, "", b"x")],
                       "Not a directory"),
    "through-a-link": ([("l", LINK, "{TOP}", b""), ("l/sbr-out", FILE, "", b"x")],
                       "Not a directory"),
    "through-two": ([("l", LINK, "m", b""), ("m", LINK, "{TOP}", b""),
                     ("l/sbr-out", FILE, "", b"x")], "Cannot open"),
    "through-a-file": ([("f", FILE, "", b"x"), ("f/g", FILE, "", b"x")], "Not a directory"),
    "hard-link-out": ([("h", HARD, "{TOP}/there", b"")], "Cannot hard link"),
    "hard-link-dots": ([("h", HARD, "../../../../..{TOP}/there", b"")], "Cannot hard link"),
    "hard-link-through": ([("l", LINK, "{TOP}", b""), ("h", HARD, "l/there", b"")],
                          "Not a directory"),
    "hard-link-of-proc": ([("h", HARD, "/proc/self/root{TOP}/there", b"")], "Cannot hard link"),
    "long-name": ([("n" * 4096, FILE, "", b"x")], "too long"),
    "long-path": ([("/".join(["p" * 200] * 20), FILE, "", b"x")], "too long"),
    "deep": ([("d/" * 97 + "f", FILE, "", b"x")], "too many directories"),
    "too-many": ([(f"f{i}", FILE, "", b"") for i in range(500)], "--inodes"),
    "too-large": ([("f", FILE, "", b"x" * MIB)], "--disk"),
    "too-large-together": ([(f"f{i}", FILE, "", b"x" * 20000) for i in range(40)], "--disk"),
    "hard-links-count": ([("f", FILE, "", b"x" * 200000), ("g", HARD, "f", b"")], "--disk"),
}


def place(members, top):
    return [(name.replace("{TOP}", str(top)), kind, link.replace("{TOP}", str(top)), content)
            for name, kind, link, content in members]


@pytest.fixture
def outside(spaces, target):
    """What no archive may touch, though the caller could."""
    there = target / "there"
    there.write_bytes(b"old")
    os.chown(there, spaces.owner, -1)
    yield target
    assert there.read_bytes() == b"old" and there.stat().st_nlink == 1
    assert [path.name for path in target.iterdir()] == ["there"]
    assert list((spaces.path / "staging").iterdir()) == []


@pytest.mark.parametrize("case", REFUSED)
def test_a_hostile_archive_makes_nothing(spaces, outside, case):
    members, says = REFUSED[case]
    done = spaces.command("import", "w", "--disk", "300k", "--inodes", "150",
                          stdin=hostile(*place(members, outside)))
    assert done.returncode == 125 and says in done.stderr.decode(), done
    assert spaces.list() == {}


# As tar does it: everything stays inside the workspace.
CONTAINED = {
    "over-a-link": ([("l", LINK, "{TOP}/there", b""), ("l", FILE, "", b"new")], {b"l": b"new"}),
    "dir-over-a-link": ([("l", LINK, "{TOP}", b""), ("l", DIR, "", b""),
                         ("l/sbr-out", FILE, "", b"x")],
                        {b"l": None, b"l/sbr-out": b"x"}),
    "twice": ([("f", FILE, "", b"old"), ("./f", FILE, "", b"new")], {b"f": b"new"}),
    "a-link-out": ([("l", LINK, "{TOP}/there", b"")], {b"l": b"{TOP}/there"}),
    "through-an-own-link": ([("d", DIR, "", b""), ("l", LINK, "d", b""), ("l/f", FILE, "", b"x")],
                            {b"d": None, b"l": b"d", b"d/f": b"x"}),
    "an-option": ([("--to-command=touch sbr-out", FILE, "", b"x")],
                  {b"--to-command=touch sbr-out": b"x"}),
}


@pytest.mark.parametrize("case", CONTAINED)
def test_a_hostile_archive_is_contained(spaces, outside, case):
    members, wanted = CONTAINED[case]
    done = spaces.command("import", "w", stdin=hostile(*place(members, outside)))
    assert (done.returncode, done.stderr) == (0, b"imported w\n"), done
    assert {path: content for path, (_, content) in spaces.entries("w").items()} == {
        path: content and content.replace(b"{TOP}", os.fsencode(outside))
        for path, content in wanted.items()}
    assert all(int(mode, 8) & 0o7000 == 0 for mode, _ in spaces.entries("w").values())


def test_an_absolute_name_becomes_relative_and_is_told(spaces, outside):
    done = spaces.command("import", "w", stdin=hostile((f"{outside}/sbr-out", FILE, "", b"x")))
    assert done.returncode == 0 and b"Removing leading" in done.stderr
    assert spaces.entries("w")[os.fsencode(f"{outside}/sbr-out"[1:])][1] == b"x"


def sparse(size):
    """A file of nothing but a hole."""
    with tempfile.TemporaryDirectory(prefix="sbr-test-") as folder:
        with open(os.path.join(folder, "f"), "wb") as file:
            file.truncate(size)
        return subprocess.run(["tar", "-C", folder, "--format=pax", "--sparse", "-cf", "-", "f"],
                              check=True,
                              stdout=subprocess.PIPE).stdout


def test_a_hole_takes_nothing_and_has_a_bound(spaces):
    assert spaces.command("import", "w", "--disk", "1m", stdin=sparse(MIB)).returncode == 0
    assert spaces.list()["w"]["used_bytes"] == 0
    assert "--disk" in error_of(spaces.command("import", "v", "--disk", "1m",
                                               stdin=sparse(1 << 40)))


def bomb(names, size):
    """Zeros, of which little is sent.  What is compressed in parts can be put together."""
    zeros = gzip.compress(bytes(MIB)) * (size // MIB)
    members = [tarfile.TarInfo(f"f{number}") for number in range(names)]
    for member in members:
        member.size = size
    return b"".join(gzip.compress(member.tobuf()) + zeros for member in members)


@pytest.mark.parametrize("names,size", [(1, 300 * MIB), (100, 3 * MIB), (100, MIB)])
def test_a_bomb_ends_at_the_quota(spaces, names, size):
    packed = bomb(names, size)
    assert len(packed) < names * size // 100
    assert "--disk" in error_of(spaces.command("import", "w", "--disk", "1m", stdin=packed))
    assert spaces.list() == {}


def test_devices_and_pipes_are_left_out_and_told(spaces):
    done = spaces.command("import", "w",
                          stdin=hostile(("dev/x", DEVICE, "", b""), ("f", FILE, "", b"1")))
    assert done.returncode == 0 and b"left out 1 device" in done.stderr and b"dev/x" in done.stderr
    assert spaces.entries("w") == {b"f": ("0o100777", b"1")}
    done = spaces.command("import", "v", "--json",
                          stdin=hostile(("dev/x", DEVICE, "", b""), ("p", PIPE, "", b"")))
    assert json.loads(done.stdout) == {"imported": "v", "left_out": 2}
    assert spaces.entries("v") == {}


def test_a_device_excuses_nothing_else(spaces):
    done = spaces.command("import", "w",
                          stdin=hostile(("x", DEVICE, "", b""), ("../f", FILE, "", b"1")))
    assert "'..'" in error_of(done) and spaces.list() == {}
    forged = "x: Cannot mknod: Operation not permitted\ntar: y"
    done = spaces.command("import", "w",
                          stdin=hostile((forged, FILE, "", b"1"), (f"{forged}/z", FILE, "", b"1")))
    assert "Not a directory" in error_of(done) and spaces.list() == {}


def test_a_name_that_is_taken_is_refused(spaces):
    spaces.shell("w", "echo 1 > f")
    assert "already" in error_of(spaces.command("import", "w",
                                                stdin=hostile(("f", FILE, "", b"2"))))
    assert spaces.shell("w", "cat f") == "1\n"


# ---- Without namespaces

@pytest.mark.skipif(no_userns.LANDLOCK_ABI < 1, reason="the tier needs Landlock")
def test_it_works_where_no_namespace_can_be_made(spaces, outside):
    with tempfile.TemporaryDirectory(prefix="sbr-test-", dir="/var/tmp") as places:
        os.chmod(places, 0o777)
        with no_userns.machine(places) as machine:
            def run(*words, **kwargs):
                return machine.run("workspace", *words, caller=spaces.caller, env=spaces.env,
                                   **kwargs)

            packed = hostile(("d/f", FILE, "", b"1"), ("l", LINK, "d/f", b""),
                             ("x", DEVICE, "", b""))
            done = run("import", "w", stdin=gzip.compress(packed))
            assert done.returncode == 0 and b"left out 1 device" in done.stderr, done
            assert spaces.entries("w") == {b"d": ("0o40755", None), b"d/f": ("0o100777", b"1"),
                                           b"l": ("0o120777", b"d/f")}
            members, says = REFUSED["through-a-link"]
            assert says in error_of(run("import", "v", stdin=hostile(*place(members, outside))))
            for case in ("too-many", "too-large"):
                members, says = REFUSED[case]
                assert says in error_of(run("import", "v", "--disk", "300k", "--inodes", "50",
                                            stdin=hostile(*members)))
            exported = run("export", "w")
            # tar is another user there; a chroot as such lets no user bring a tree in
            if spaces.caller == support.Callers.ROOT or support.lacks(spaces.caller):
                assert "without namespaces" in error_of(exported)
            else:
                assert exported.returncode == 0 and opened(exported.stdout).getnames() == ["d", "d/f", "l"]
            assert machine.left() == []

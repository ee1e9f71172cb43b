"""With --allow-command no other command can be started: not from a volume, not as a copy, not by the loader of shared
libraries, not as an interpreter, not from a file descriptor or from memory.  Each road leads there without its layer."""
import platform

import pytest

import support
from harness import callers, root_only

# `id` is the command that is not allowed; its answer is what an attack is after.
OTHER = ("--volume", "/usr/bin:/host:ro")
GOT = "uid="
MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}[platform.machine()]
LOADER = "for l in /lib64/ld-linux-*.so.* /lib/ld-linux-*.so.*; do [ -x $l ] && $l {}; done"
FROM_FILES = {
    "by its name": "id",
    "from a volume": "/host/id",
    "a copy at /work": "cp /host/id /work/x; /work/x",
    "a copy at /tmp": "cp /host/id /tmp/x; /tmp/x",
    "a copy in shared memory": "cp /host/id /dev/shm/x; /dev/shm/x",
    "the loader, from a volume": LOADER.format("/host/id"),
    "the loader, of a copy": "cp /host/id /work/y; " + LOADER.format("/work/y"),
    "an interpreter": "printf '#!/host/sed s/^/uid=/\\n' > /work/i; chmod 755 /work/i; /work/i",
    "a file descriptor": "exec 3< /host/id; /proc/self/fd/3",
    "the path of a process": "/proc/self/root/host/id",
    "a hard link": "ln /host/id /work/l; /work/l",
    "over an allowed one": "cp /host/id /usr/bin/ls; ls",
    "by renaming": "cp /host/id /work/z; mv /work/z /usr/bin/id; id",
}
# Each is one way to start a copy of the command, and stays one without noexec.
NEVER = {"by its name", "over an allowed one", "by renaming", "a hard link"}
FROM_MEMORY = f"""
$fd = syscall({MEMFD_CREATE}, my $name = "x", 0);
die "no file in memory\\n" if $fd < 0;
open(my $in, "<", "/host/id"); binmode $in; local $/; my $all = <$in>;
open(my $out, ">&=", $fd); binmode $out; syswrite($out, $all);
exec {{ "/proc/self/fd/$fd" }} "id" or die "exec: $!";
"""


def run(*words, allowed="cp,ln,mv,chmod,ls,cat", caller=support.Callers.ROOT, without=None):
    more = {"hooks": True, "env": {"SANDBOX_RUN_TEST_WITHOUT": without}} if without else {}
    return support.result_of("exec", *OTHER, "--allow-command", allowed, "--", *words, caller=caller, **more)


def found(caller=support.Callers.ROOT, without=None):
    """The roads that lead to the other command: one sandbox for all of them."""
    script = "\n".join(f"echo 'ROAD {name}'; ({road}) 2>/dev/null" for name, road in FROM_FILES.items())
    result = run("bash", "-c", script, caller=caller, without=without)
    parts = result["stdout"].split("ROAD ")[1:]
    assert len(parts) == len(FROM_FILES), result
    return {part.splitlines()[0] for part in parts if GOT in part}


@callers
def test_no_road_leads_to_another_command(caller):
    assert found(caller) == set()


@root_only
def test_the_roads_lead_there_where_programs_can_be_anywhere(caller=support.Callers.ROOT):
    assert found(caller, without="noexec") == set(FROM_FILES) - NEVER


def from_memory(**more):
    return run("perl", "-e", FROM_MEMORY, allowed="perl,ls", **more)


@callers
def test_no_program_starts_from_memory(caller):
    result = from_memory(caller=caller)
    assert GOT not in result["stdout"] and "no file in memory" in result["stderr"], result
    denial = [one for one in result["denials"] if one["target"].startswith("memfd_create")]
    assert denial and "nomemory.yaml" in denial[0]["rule"], result["denials"]


@root_only
def test_one_starts_from_memory_without_the_filter():
    assert GOT in from_memory(without="nomemory")["stdout"]


@callers
@pytest.mark.parametrize("name", ("/proc/1/exe", "/proc/self/exe"))
def test_our_own_program_is_none(caller, name):
    """The shell itself is what /proc/self/exe is; pid 1 is ours and cannot be looked at."""
    result = run("bash", "-c", f"cp {name} /work/x && chmod 755 /work/x && /work/x -c 'echo started'", caller=caller)
    assert "started" not in result["stdout"], result

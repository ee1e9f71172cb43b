"""What a compiler, an installer and the like can be made to do, and what a program can do to them."""
import json

import pytest

import harness
import stages
import support
from harness import NO_ROOT, callers
from stages import STAGES, Attack, assert_failed, run, run_in_stage, said, stage_of, store  # noqa: F401

OFFLINE = ("prepare", "compile", "check")
FILES = (*NO_ROOT, "landlock", "identity")
NETWORK = ("network-namespace", "landlock", "seccomp")

ATTACKS = [
    Attack("read a file of the host", "cat <secret>", FILES),
    Attack("list a directory of the host", "ls <room>", FILES),
    Attack("see a process of the host", "cat /proc/<victim>/comm",
           ("pid-namespace", *FILES)),
    Attack("connect to a service of the host",
           "exec 3<>/dev/tcp/127.0.0.1/<port>", NETWORK, stages=OFFLINE),
    Attack("connect to a service of the host by IPv6",
           "exec 3<>/dev/tcp/::1/<port6>", NETWORK, stages=OFFLINE),
    Attack("write to a file of the host", "echo x >> <canary>", FILES),
]

(test_the_attack_fails_in_the_stage,
 test_the_attack_succeeds_without_the_layers) = stages.proofs(ATTACKS)

CONNECT = """
import socket
try:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect("\\0NAME")
    print("GOT")
except OSError as problem:
    print("NOT", problem)
"""


@callers
@pytest.mark.parametrize("stage", STAGES)
def test_no_abstract_socket_of_the_host_is_reached(scene, store, stage):
    """Also not by an installer, which has a network."""
    program = store.file("connect.py", CONNECT.replace("NAME", scene.abstract)).read_text()
    result = run_in_stage(store, stage, f"/usr/bin/python3 -c '{program}' >&2; exit 1")
    assert "GOT" not in said(result) and "NOT" in said(result), said(result)[:600]


@callers
@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_nobody(store, stage):
    script = "id -u; grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'"
    text = said(run_in_stage(store, stage, f"{{ {script}; }} >&2; exit 1"))
    for part in ("1000", "CapEff:0000000000000000", "NoNewPrivs:1", "Seccomp:2"):
        assert part in text, text[:800]


@callers
@pytest.mark.parametrize("stage", STAGES)
def test_the_callers_environment_stays_outside(store, stage):
    env = {"SECRET_TOKEN": "t0ken", "CONFIGURED": "for-installers", "LD_PRELOAD": ""}
    script = "{ env; tr '\\0' '\\n' < /proc/1/environ; } | grep -E 'TOKEN|CONFIG' >&2; exit 1"
    text = said(run_in_stage(store, stage, script, "--env", "GIVEN_TOKEN=1", env=env))
    assert "TOKEN" not in text.replace("grep -E 'TOKEN", "")
    assert ("for-installers" in text) == (stage == "install")


@callers
@pytest.mark.parametrize("stage", STAGES)
def test_only_the_stages_own_directory_is_written(store, stage):
    places = "/ /usr /etc /driver /dev /proc /prepared /deps /build /toolchain /root /var"
    script = f"for d in {places}; do : > $d/x && echo \"WROTE $d\"; done 2> /tmp/log; cat /tmp/log >&2"
    result = run_in_stage(store, stage, f"{{ {script}; }} >&2; exit 1")
    mine = {"prepare": "/prepared", "install": "/deps", "compile": "/build", "check": "/build"}
    wrote = [word for word in places.split() if f"WROTE {word}\\n" in said(result)]
    assert wrote == [mine[stage]], said(result)[:900]


@callers
@pytest.mark.parametrize("stage", ["prepare", "install", "compile"])
def test_volumes_are_not_for_other_stages(scene, store, stage):
    """An installer has a network; and what is kept must not depend on what nobody keeps."""
    text = said(run_in_stage(store, stage, "ls /data >&2; exit 1", "--volume", f"{scene.data}:/data:ro"))
    assert "canary" not in text, text[:600]


@callers
def test_a_change_of_a_volume_is_seen(scene, store):
    """It is no part of the key of an artifact, so it may be no part of the artifact."""
    folder = store.folder / "volume"
    folder.mkdir()
    found = []
    for text in ("one", "two"):
        (folder / "file").write_text(text)
        result = run(store, "--volume", f"{folder}:/data:ro", run="bash $BUILD/program; cat /data/file",
                     compile="{ echo -n 'echo '; cat /data/file; } > $BUILD/program 2>&1; true")
        found.append(result["stdout"])
    assert "one" in found[0] and "one" not in found[1], found


# --- limits --------------------------------------------------------------------------------------

FILL = "i=0; while head -c 4M /dev/zero > /tmp/f$i; do i=$((i+1)); done; exit 1"
EAT = "/usr/bin/python3 -c 'x = [bytearray(1 << 20) for i in range(1 << 20)]'"


@callers
@pytest.mark.parametrize("stage", ["install", "compile", "check"])
def test_a_stage_that_never_ends_is_ended(store, stage):
    assert_failed(run_in_stage(store, stage, "while :; do :; done", limits=["timeout=300ms"]),
                  stage, "timeout")
    assert not store.leavings()


@callers
@pytest.mark.parametrize("stage", ["install", "compile", "check"])
def test_a_stage_that_eats_memory_is_ended(store, stage):
    assert_failed(run_in_stage(store, stage, EAT, limits=["memory=64m"]), stage, "memory_limit")
    assert not store.leavings()


@callers
def test_a_stage_that_forks_without_end_is_contained(store):
    result = run_in_stage(store, "compile", "f() { f | f & }; f; wait; sleep 100",
                          limits=["pids=20", "timeout=1s"])
    assert result["outcome"] == "compile_failed", said(result)[:600]
    assert not store.leavings()


@callers
def test_a_stage_that_fills_the_disk_is_stopped(store):
    result = run_in_stage(store, "compile", FILL, limits=["disk=16m", "memory=128m"])
    assert result["outcome"] == "compile_failed"
    assert stage_of(result, "compile")["outcome"] in ("disk_limit", "exited"), said(result)[:600]
    assert not store.leavings()


@callers
def test_a_flood_of_messages_is_cut(store):
    result = run_in_stage(store, "compile", "yes >&2", limits=["max-output=100k", "timeout=20s"])
    assert_failed(result, "compile", "output_limit")
    assert len(stage_of(result, "compile")["stderr"]) <= 100 * 1024


@callers
def test_limits_of_the_program_are_not_those_of_its_compiler(store):
    """Whoever may set a small limit for a program does not set the compiler's, nor the reverse."""
    result = run(store, "--timeout", "300ms", compile="sleep 0.5; echo 'sleep 9' > $BUILD/program")
    assert stage_of(result, "compile")["outcome"] == "exited"
    assert result["outcome"] == "timeout"


@callers
def test_a_daemon_ends_with_its_stage(store):
    """It holds the streams open and would change what was made."""
    daemon = "while :; do echo 'echo changed' > $BUILD/program; done"
    result = run(store, compile="echo 'echo made' > $BUILD/program; "
                                f"(setsid bash -c \"sleep 0.2; {daemon}\" &); true".replace("$BUILD", "/build"))
    assert result["outcome"] == "exited", said(result)[:600]
    assert result["stdout"] in ("made\n", "changed\n")
    assert stage_of(result, "compile")["execution_time"] < 10
    again = run(store, compile="echo 'echo made' > $BUILD/program; "
                               f"(setsid bash -c \"sleep 0.2; {daemon}\" &); true".replace("$BUILD", "/build"))
    assert again["cached"] and again["stdout"] == result["stdout"]


@callers
def test_the_stream_of_the_tree_is_not_within_reach(store):
    """Init alone has it: a stage that could write there would say what its tree holds."""
    script = "ls -l /proc/self/fd | grep -c pipe; for n in 3 4 5 6 7 8 9; do echo x >&$n && echo GOT; done"
    result = run_in_stage(store, "compile", f"{{ {script}; }} 2>&1; exit 1")
    assert "GOT" not in stage_of(result, "compile")["stdout"]


# --- the program, and what was made for it -------------------------------------------------------

@callers
def test_a_program_cannot_change_what_was_made_for_it(scene, store):
    places = "/build /deps /prepared /driver /toolchain /usr"
    run_script = (f"for d in {places}; do [ -e $d ] || continue; for f in $d/x $d/program; do "
                  "{ : >> $f; } 2>/dev/null && echo GOT write $f; "
                  "rm -f $f 2>/dev/null; mv $d $d.old 2>/dev/null && echo GOT move $d; "
                  "chmod 777 $d 2>/dev/null && echo GOT mode $d; "
                  "touch $d 2>/dev/null && echo GOT time $d; done; done; "
                  "cat /build/program /deps/program; mount | grep -cE ' /(build|deps|prepared) .*rw'")
    make = "echo mine > $BUILD/program"
    words = {"prepare": "echo mine > $PREPARED/program", "install": "echo mine > $DEPS/program",
             "compile": make, "run": run_script}
    for _ in range(2):
        result = run(store, "--dep", "x", **words)
        assert "GOT" not in result["stdout"], result["stdout"]
        assert result["stdout"].splitlines()[:2] == ["mine", "mine"]
        assert result["stdout"].splitlines()[-1] == "0"
    assert result["cached"]


@callers
def test_a_program_does_not_see_the_store(store):
    result = run(store, compile="echo true > $BUILD/program",
                 run="cat /proc/self/mountinfo; ls -la /build/..; cat /build/../meta")
    inside = [line.split()[3:5] for line in result["stdout"].splitlines() if " /build " in line]
    assert inside and "meta" not in result["stdout"].split(" /build ")[-1]


@callers
def test_nothing_of_one_stage_is_in_the_next_but_its_layer(store):
    leave = "echo left > /tmp/left; echo left > /work/left; echo left > /dev/shm/left; "
    look = "cat /tmp/left /work/left /dev/shm/left 2>/dev/null"
    result = run(store, "--dep", "x", install=leave + "true", prepare=leave + "true",
                 compile=f"{look} >&2; {leave} echo true > $BUILD/program", run=look)
    assert "left" not in result["stdout"] and "left" not in stage_of(result, "compile")["stderr"]


# --- dependencies --------------------------------------------------------------------------------

@callers
@pytest.mark.parametrize("name", ["-r", "../x", "", "a\nb"])
def test_a_dependency_is_neither_an_option_nor_a_path(store, name):
    """A few of them: all kinds are in tests/unit/test_request.c."""
    done = support.sandbox_run(
        "run", "--json", "--language-file",
        store.file("attack.yaml", stages.language(install="exit 0", run="true")), "--lang", "attack", "--code", "x",
        f"--dep={name}", caller=store.caller, env=store.environment())
    result = json.loads(done.stdout)
    assert result.get("error", {}).get("code") == "invalid", said(result)[:300]


@callers
def test_an_installers_words_are_one_each(store):
    """Nothing of a name is taken for another word, or for a name of ours."""
    result = run(store, "--dep", "a@1.0", "--dep", "b[c]>=2", install="echo \"<$*>\" >&2; exit 1")
    assert "<a@1.0 b[c]>=2>" in stage_of(result, "install")["stderr"]


@callers
def test_a_failed_installation_leaves_no_layer(store):
    result = run(store, "--dep", "x", install="echo poison > $DEPS/module; exit 1", run="true")
    assert_failed(result, "install", "exited")
    assert not store.entries("layer") and not store.leavings()
    assert b"poison" not in store.content()


@callers
def test_an_installer_that_is_killed_leaves_no_layer(store):
    result = run(store, "--dep", "x", install="echo poison > $DEPS/module; kill -9 $$", run="true")
    assert result["outcome"] == "install_failed"
    assert not store.entries("layer") and b"poison" not in store.content()


@callers
def test_an_installer_sees_no_file_of_the_program(store):
    result = run(store, "--dep", "x", "--file", store.file("private.txt", "x"),
                 install="ls -A /work >&2; exit 1")
    assert stage_of(result, "install")["stderr"] == ""


@harness.callers
def test_an_installer_is_not_the_hosts_neighbour(scene, store):
    """It reaches registries, and nothing else of the host."""
    script = ("ls /proc | grep -cE '^[0-9]+$'; kill -0 <victim> && echo GOT; "
              "ls <room> && echo GOT; cat /etc/shadow && echo GOT").replace(
                  "<victim>", str(scene.victim)).replace("<room>", str(scene.room))
    text = stage_of(run_in_stage(store, "install", f"{{ {script}; }} >&2; exit 1"), "install")["stderr"]
    assert "GOT" not in text and int(text.split()[0]) < 8, text


def knock(host, port):
    """Bash says what came of a connection: our own side may take it, but nobody behind it answers."""
    return f"( exec 3<>/dev/tcp/{host}/{port} && echo hello >&3 && read -t 5 -r answer <&3; echo \"{host} $? <$answer>\" )"


@harness.callers
def test_a_service_of_the_host_is_closed_to_an_installer_unless_it_is_its_registry(scene, store):
    places = [("127.0.0.1", scene.port), ("::1", scene.port6), ("localhost", scene.port)]
    script = "; ".join(knock(host, port) for host, port in places)
    closed = run_in_stage(store, "install", f"{{ {script}; }} >&2; exit 1", env={"CONFIGURED": "http://127.0.0.1:9/"})
    text = stage_of(closed, "install")["stderr"]
    assert not any(f"{host} 0" in text for host, _ in places) and "localhost 1" in text, text
    script = f"( exec 3<>/dev/tcp/127.0.0.1/{scene.port} && echo OPEN )"
    opened = run_in_stage(store, "install", f"{{ {script}; }} >&2; exit 1",
                          env={"CONFIGURED": f"http://127.0.0.1:{scene.port}/"})
    assert "OPEN" in stage_of(opened, "install")["stderr"], said(opened)[:600]


@callers
def test_a_variable_does_not_bring_a_home_to_an_installer(store):
    """A directory that a client's variable names is brought in, but not one that holds everything."""
    home = store.folder
    for path in (home, f"{home}/", f"{home}/cache/..", home.parent, "/", "/proc/self/root"):
        result = run_in_stage(store, "install", f"ls {home} >&2; exit 1",
                              env={"HOME": str(home), "SSL_CERT_DIR": str(path)})
        assert "attack.yaml" not in stage_of(result, "install")["stderr"], path


SOCKETS = ("AF_INET, socket.SOCK_RAW, 1", "AF_PACKET, socket.SOCK_RAW",
           "AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_USERSOCK", "AF_VSOCK, socket.SOCK_STREAM",
           "AF_ALG, socket.SOCK_SEQPACKET")


@callers
def test_an_installer_has_no_other_sockets(store):
    script = "; ".join(f"/usr/bin/python3 -c 'import socket; socket.socket(socket.{kind})' 2>&1 | tail -n 1"
                       for kind in SOCKETS)
    result = run_in_stage(store, "install", f"{{ {script}; }} >&2; exit 1")
    lines = stage_of(result, "install")["stderr"].splitlines()
    assert len(lines) == len(SOCKETS) and all("Error" in line for line in lines), dict(zip(SOCKETS, lines))

"""One regression test for each failure of others (SECURITY section 1) that applies to us.

Some have their proof in the file of the mechanism; here each is found by its name.
"""
import json
import os
import subprocess

import pytest

import support
from harness import (DEADLINE, SECRET, assert_each, assert_none, callers, root_only, run_attack, run_attacks,
                     run_outside, running, status_of)
from support import Callers


class TestRuncCve2019_5736:
    """The runtime's binary, overwritten through /proc/PID/exe by what ran in the container."""

    @callers
    def test_the_executable_of_init_cannot_be_overwritten(self, scene, caller):
        answer = run_attack(scene, "overwrite-executable", "/proc/1/exe", "x", 1, caller=caller)
        assert answer.error in ("EACCES", "EPERM", "ETXTBSY"), answer

    @callers
    def test_the_tool_itself_is_unchanged_and_not_what_runs_inside(self, scene, caller):
        before = support.SANDBOX_RUN.read_bytes()
        run_attack(scene, "overwrite-executable", "/proc/self/exe", "x", 0, caller=caller)
        run_attack(scene, "write", "/proc/1/exe", "x", caller=caller)
        assert support.SANDBOX_RUN.read_bytes() == before
        with running(scene, "hold", "file", "/tmp/x", caller=caller) as run:
            run.read_line()
            init = run.find("sandbox-run-init")
            assert os.readlink(f"/proc/{init}/exe").startswith("/memfd:")


class TestRuncCve2024_21626:
    """A descriptor of the host left open, and a working directory given by its number."""

    @callers
    @pytest.mark.parametrize("fd", [3, 7, 20])
    def test_no_descriptor_is_a_working_directory(self, scene, fd, caller):
        """More of them in test_descriptors."""
        leak = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
        os.set_inheritable(leak, True)
        try:
            answer = run_attack(scene, "climb", "{secret}", caller=caller, pass_fds=(leak,),
                                options=("--workdir", f"/proc/self/fd/{fd}"))
        finally:
            os.close(leak)
        assert not answer.got, answer

    def test_a_leaked_descriptor_is_a_way_out_for_a_plain_process(self, scene):
        leak = os.open(scene.room, os.O_RDONLY | os.O_DIRECTORY)
        try:
            answer = run_outside(scene, "through-descriptors", "secret", pass_fds=(leak,))
        finally:
            os.close(leak)
        assert answer.line == f"GOT {SECRET}"


def in_private_mounts(setup, *words):
    """Runs the tool where the test has changed the mounts; nobody else sees them."""
    tool = " ".join(f"'{word}'" for word in support.command(*words))
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "bash", "-ec", f"{setup}\nexec {tool}"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE,
        check=False)


@root_only
class TestRuncCve2025_31133_52565_52881:
    """What is mounted from the host is not what its name says: /dev/null and friends replaced."""

    FAKE = {
        "a file": "echo fake > {room}/fake; mount --bind {room}/fake /dev/{name}",
        "a symlink": ("mkdir -p {room}/dev; mount -t tmpfs none {room}/dev;"
                      "for d in null zero full random urandom tty ptmx pts shm; do "
                      "test -e /dev/$d && {{ test -d /dev/$d && mkdir {room}/dev/$d || "
                      "touch {room}/dev/$d; mount --bind /dev/$d {room}/dev/$d; }}; done;"
                      "umount {room}/dev/{name}; rm {room}/dev/{name};"
                      "ln -s {room}/secret {room}/dev/{name}; mount --rbind {room}/dev /dev"),
        "another device": "mount --bind /dev/tty /dev/{name}",
        "a procfs file": "mount --bind /proc/sys/kernel/core_pattern /dev/{name}",
    }

    @pytest.fixture(autouse=True)
    def tidy(self, scene):
        yield
        (scene.room / "fake").unlink(missing_ok=True)
        if (scene.room / "dev").exists():
            (scene.room / "dev").rmdir()

    @pytest.mark.parametrize("fake", FAKE)
    @pytest.mark.parametrize("name", ["null", "zero", "urandom"])
    def test_a_device_that_is_none_is_refused(self, scene, fake, name):
        setup = self.FAKE[fake].format(room=scene.room, name=name)
        done = in_private_mounts(setup, "exec", "--", "echo", "ran")
        assert done.returncode in (125, 126), done
        assert b"ran" not in done.stdout
        lines = done.stderr.decode().splitlines()
        assert len(lines) == 1 and f"/dev/{name}" in lines[0] and "mounts" in lines[0], lines

    def test_the_same_without_the_fake_runs(self):
        done = in_private_mounts("true", "exec", "--", "echo", "ran")
        assert (done.returncode, done.stdout) == (0, b"ran\n"), done

    def test_a_volume_that_is_a_symlink_is_not_followed(self, scene):
        link = scene.room / "link"
        link.symlink_to("/etc")
        try:
            result = support.result_of("exec", "--volume", f"{link}:/etc2", "--", "ls", "/etc2/")
        finally:
            link.unlink()
        assert "error" in result or result["exit_code"] != 0, result

    def test_a_volume_that_is_a_device_is_refused(self):
        result = support.result_of("exec", "--volume", "/dev/null:/device", "--", "true")
        assert "is a device" in result["error"]["message"]

    @pytest.mark.parametrize("target", ["/proc", "/proc/sys", "/dev/null", "/etc/passwd", "/usr/x",
                                        "/work", "/tmp", "/x/../proc", "/sys"])
    def test_no_volume_covers_what_is_ours(self, scene, target):
        result = support.result_of("exec", "--volume", f"{scene.data}:{target}", "--", "true")
        assert result["error"]["code"] == "invalid"


class TestCve2022_0492:
    """A control group hierarchy mounted from inside, whose release_agent runs on the host."""

    LAYERS = ("seccomp", "identity", "landlock")

    @callers
    def test_no_control_groups_can_be_mounted(self, scene, caller):
        attacks = [("mount-cgroup", "/tmp", controller)
                   for controller in ("memory", "pids", "rdma", "net_cls", "misc")]
        assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                    lambda answer: answer.error == "EPERM")

    @root_only
    def test_the_user_namespace_keeps_the_agent_from_being_written(self, scene):
        """Layers off, the mount may work; the file stays root's."""
        answer = run_attack(scene, "mount-cgroup", "/tmp", "memory", without=self.LAYERS)
        assert answer.error in ("EPERM", "EACCES", "ENOENT", "EBUSY"), answer

    @root_only
    def test_the_mount_works_without_the_layers(self, scene):
        answer = run_attack(scene, "mount-cgroup", "/tmp", "memory",
                            without=(*self.LAYERS, "user-namespace", "cgroup-namespace"))
        assert answer.got, answer

    @callers
    def test_no_release_agent_is_anywhere(self, caller):
        result = support.result_of("exec", "--", "find", "/", "-xdev", "-name", "release_agent",
                                   caller=caller)
        assert result["stdout"] == ""


class TestCve2017_5226And2019_10063:
    """TIOCSTI, and TIOCSTI with a bit set that the kernel ignores."""

    ATTACKS = (("terminal-ioctl", 0x5412), ("terminal-ioctl", 0x5412, "junk"))

    @callers
    def test_nothing_can_be_typed(self, scene, caller):
        assert_each(self.ATTACKS, run_attacks(scene, self.ATTACKS, caller=caller),
                    lambda answer: answer.error == "EPERM")

    @root_only
    def test_something_can_be_typed_without_the_filter(self, scene):
        assert_each(self.ATTACKS, run_attacks(scene, self.ATTACKS, without=("seccomp",)),
                    lambda answer: answer.got)


class TestCve2022_24769:
    """Inheritable capabilities left over, which a file with capabilities turns into real ones."""

    @callers
    def test_no_set_holds_a_capability(self, scene, caller):
        assert run_attack(scene, "capabilities", caller=caller).error == "EMPTY"

    @root_only
    def test_not_even_when_the_caller_has_inheritable_ones(self, scene):
        line = ["setpriv", "--inh-caps", "+net_raw,+sys_admin", "--",
                *support.command("exec", "--volume", f"{scene.tools}:/attacks", "--",
                                 "/attacks/attack", "capabilities")]
        done = subprocess.run(line, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              timeout=DEADLINE, check=False)
        assert done.stdout.startswith(b"NOT EMPTY"), done
        outside = subprocess.run(["setpriv", "--inh-caps", "+net_raw,+sys_admin", "--",
                                  str(scene.tools / "attack"), "capabilities"],
                                 stdout=subprocess.PIPE, timeout=DEADLINE, check=False)
        assert b"CapInh" in outside.stdout


class TestJudge0Cve2024_28185_28189:
    """Files of a program written, or given away, through a symlink that an earlier one left."""

    @callers
    def test_a_run_starts_in_a_fresh_directory(self, scene, caller):
        leave = "ln -s {} /work/main.py; ln -s {} /work/x; ls -A /work".format(
            scene.canary, scene.room)
        before = scene.canary.read_text()  # attacks without their defence have written to it
        support.shell(leave, caller=caller)
        result = support.shell("ls -A /work", caller=caller)
        assert result["stdout"].split() == ["main.bash"]
        assert scene.canary.read_text() == before

    @callers
    @pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "./x", "a//b", "", "."])
    def test_a_file_of_a_request_stays_in_its_directory(self, name, caller):
        request = {"language": "python", "files": [{"path": name, "content": "print(1)"}]}
        result = support.result_of("run", "--request", "-", caller=caller,
                                   stdin=json.dumps(request).encode())
        assert result["success"] is False and "error" in result, result

    @root_only
    def test_files_of_the_program_belong_to_the_run_without_a_chown(self, scene):
        before = os.stat(scene.canary)
        result = support.shell("stat -c %u:%g main.bash; stat -c %u:%g .")
        assert result["stdout"].split() == ["1000:1000", "1000:1000"]
        after = os.stat(scene.canary)
        assert (before.st_uid, before.st_mode) == (after.st_uid, after.st_mode)


class TestJudge0ZeroTimeLimit:
    """A limit of zero meant "for ever"."""

    OPTIONS = ("--timeout", "--cpu-time", "--memory", "--pids", "--disk", "--inodes", "--open-files",
               "--max-output", "--cpus")
    VALUES = ("-1", "nan", "inf", "", "99999999999999999999")

    @callers
    def test_no_limit_is_switched_off_by_a_number(self, caller):
        """Zero for every option, and every number for one: each with each is in tests/unit/test_limits.c."""
        wrong = []
        for option, value in [*((option, "0") for option in self.OPTIONS),
                              *(("--timeout", value) for value in self.VALUES)]:
            result = support.result_of("exec", f"{option}={value}", "--", "echo", "ran", caller=caller)
            if (result["_status"], result.get("error", {}).get("code")) != (125, "invalid") or \
                    option not in result["error"]["message"]:
                wrong.append(f"{option}={value}: {result}")
        assert_none(wrong)


class TestGoJudge176:
    """Output read by the supervisor through a link that the program had put there."""

    @callers
    def test_output_is_what_was_written_to_the_streams(self, scene, caller):
        code = ("rm -f stdout stderr; ln -s {0} stdout; ln -s {0} stderr; ln -s {0} output; "
                "echo done".format(scene.secret))
        result = support.shell(code, caller=caller)
        assert (result["stdout"], result["stderr"]) == ("done\n", "")
        assert SECRET not in str(result)


class TestIsolateDescriptors:
    """Descriptors inherited from the caller of the tool."""

    @callers
    def test_none_is_passed_on(self, scene, caller):
        fds = [os.open(scene.secret, os.O_RDONLY) for _ in range(20)]
        try:
            answer = run_attack(scene, "descriptors", caller=caller, pass_fds=tuple(fds))
        finally:
            for fd in fds:
                os.close(fd)
        assert answer.error == "EBADF", answer


class TestPiston:
    """Processes that survived the clean-up, and variables of the service (#703)."""

    @callers
    def test_nothing_survives_a_fork_bomb_that_ends(self, scene, caller):
        answer = run_attack(scene, "hop", caller=caller, options=("--pids", "16"))
        assert answer.outcome in ("exited", "process_limit"), answer  # and see the fixture

    @callers
    def test_no_variable_of_the_service_is_seen(self, caller):
        result = support.shell("export -p; cat /proc/*/environ 2>/dev/null", caller=caller,
                               env={"PISTON_TOKEN": "token-703"})
        assert "703" not in result["stdout"] and "PATH" in result["stdout"]


@root_only
class TestBubblewrapRootMapping:
    """Run by root, the payload was host root with every capability in its namespace."""

    def test_host_root_is_never_mapped(self, scene):
        with running(scene, "hold", "file", "/tmp/x") as run:
            run.read_line()
            pid = run.find("attack")
            with open(f"/proc/{pid}/uid_map", encoding="ascii") as uid_map:
                assert uid_map.read().split()[1] != "0"
            assert "0" not in status_of(pid)["Uid"].split()
            assert int(status_of(pid)["CapEff"], 16) == 0

    def test_core_pattern_cannot_be_opened_for_writing(self, scene):
        answer = run_attack(scene, "open", "/proc/sys/kernel/core_pattern", "w")
        assert answer.error in ("EROFS", "EACCES"), answer

    def test_usr_cannot_be_remounted(self, scene):
        answer = run_attack(scene, "remount-write", "/usr", "/usr/sandbox-run-escape", "x")
        assert answer.error == "EPERM", answer

    def test_core_pattern_opens_without_the_layers(self, scene):
        answer = run_attack(scene, "open", "/proc/sys/kernel/core_pattern", "w",
                            without=("user-namespace", "landlock", "read-only-proc"))
        assert answer.got, answer


class TestCopyFailAfAlg:
    """CVE-2026-31431: crypto sockets and splice wrote into files that were only readable."""

    @callers
    def test_crypto_sockets_do_not_exist(self, scene, caller):
        """Not with junk in the upper half either."""
        attacks = [*[("socket", 38, kind, 0) for kind in (1, 2, 3, 5, 5 | 0o2000000)], ("socket", 38, 5, 0, "junk")]
        assert_each(attacks, run_attacks(scene, attacks, caller=caller),
                    lambda answer: answer.error == "EAFNOSUPPORT")

    @callers
    def test_a_shared_file_is_not_changed_by_splicing(self, scene, caller):
        code = ("import os\n"
                "fd = os.open('/attacks/attack', os.O_RDONLY)\n"
                "r, w = os.pipe()\n"
                "print(os.splice(fd, w, 4096))\n"
                "try: os.splice(r, fd, 4096, offset_dst=0); print('written')\n"
                "except OSError as error: print(error.errno)\n")
        before = (scene.tools / "attack").read_bytes()
        result = support.python(code, "--volume", f"{scene.tools}:/attacks", caller=caller)
        assert result["stdout"].split()[0] == "4096" and "written" not in result["stdout"], result
        assert (scene.tools / "attack").read_bytes() == before


class TestSilentFallbacks:
    """R23: what could not be set up stops the run or is named in the result."""

    @callers
    def test_every_result_says_what_was_active(self, caller):
        result = support.result_of("exec", "--", "true", caller=caller)
        missing = result["isolation"]["missing"]
        assert (missing == []) == (caller == Callers.ROOT)

"""sandbox-run-secrets, which holds the values: what it is from outside, and that the program cannot read it."""
import pathlib

from harness import callers, running, status_of, wait_until

HELPER = "sandbox-run-secrets"
KEY = "sk-live-Zk3v9QpL7xWn2TbRyU5oAe81"
WITH_SECRET = ("--secret", f"API_KEY={KEY}:api.example.org")


def find(run):
    def there():
        try:
            return run.find(HELPER)
        except AssertionError:
            return None
    wait_until(there, "it runs")
    return there()


@callers
def test_the_helper_is_confined_and_has_only_sockets(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", options=WITH_SECRET, caller=caller) as run:
        assert run.read_line() == "READY file", run.finish()
        pid = find(run)
        status = status_of(pid)
        assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"]) == ("2", "1", "0" * 16)
        kinds = {str(path.readlink()).partition(":")[0] for path in pathlib.Path(f"/proc/{pid}/fd").iterdir()}
        assert kinds <= {"socket", "anon_inode"}
        assert pathlib.Path(f"/proc/{pid}/environ").stat().st_uid == 0, "nobody but root reads its memory"
    wait_until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), "it ends with the run")


@callers
def test_without_its_confinement_it_is_not(scene, caller):
    with running(scene, "hold", "file", "/tmp/x", options=WITH_SECRET, caller=caller, without=("secrets-confine",)) as run:
        run.read_line()
        assert status_of(find(run))["Seccomp"] == "0"


@callers
def test_no_value_is_in_a_command_line_or_environment_of_ours(scene, caller):
    """But for the caller's own, who typed it."""
    with running(scene, "hold", "file", "/tmp/x", options=WITH_SECRET, caller=caller) as run:
        run.read_line()
        for name in (HELPER, "sandbox-run-egress", "sandbox-run-init", "attack"):
            for part in ("environ", "cmdline"):
                assert KEY.encode() not in pathlib.Path(f"/proc/{run.find(name)}/{part}").read_bytes(), name

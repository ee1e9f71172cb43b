"""The fronts of the gateway, which read what clients send: what they are from outside, and what an attacker who has
taken one over can still do."""
import os
import signal

import engine
import gateway
import support

NO_CAPABILITY = "0" * 16
ATTEMPTS = {"read", "write", "exec", "exec-here", "trace", "signal", "internet", "local", "code", "namespace"}


def status_of(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as lines:
        return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def attack(running, path):
    """The attempts of the front at TCP that succeeded: no token is needed to reach its parser."""
    said = dict(line.split() for line in running.ask("GET", "/", tcp=True, X_Attack=str(path)).body.decode().splitlines())
    assert set(said) == ATTEMPTS
    return {name for name, error in said.items() if error == "0"}


def test_a_front_that_was_taken_over_can_do_nothing(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("of the gateway's user")
    secret.chmod(0o600)
    with gateway.Gateway(tmp_path / "g", hooks=True) as running:
        assert attack(running, secret) == set()
        pids = gateway.fronts(running)
        assert len(pids) == 2, "one for the unix socket, one for TCP"
        for pid in pids:
            status = status_of(pid)
            assert (status["Seccomp"], status["NoNewPrivs"], status["CapEff"]) == ("2", "1", NO_CAPABILITY)
            assert os.geteuid() or "0" not in status["Uid"].split()
    free = {"SANDBOX_RUN_TEST_WITHOUT": "front-confine"}
    with gateway.Gateway(tmp_path / "free", env=free, hooks=True) as running:
        assert attack(running, secret) >= ATTEMPTS - {"trace", "namespace"}, "without it, all of this works"


def test_a_front_that_ends_is_started_again(tmp_path):
    with gateway.Gateway(tmp_path / "g") as running:
        where = running.ask("POST", "/v1/executions", {"args": ["sh", "-c", "read a; echo $a"]},
                            Prefer="respond-async").headers["Location"]
        before = gateway.fronts(running)
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        assert engine.within(support.DEADLINE, lambda: len(set(gateway.fronts(running)) - set(before)) == 2)
        assert running.ask("POST", where + "/stdin?close=1", b"again\n").status == 202, "runs go on"
        assert engine.within(support.DEADLINE, lambda: running.ask("GET", where).json()["status"] == "done")
        assert running.ask("GET", where).json()["result"]["stdout"] == "again\n"

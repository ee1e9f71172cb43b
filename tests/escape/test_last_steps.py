"""The last things that init does before the program runs, each shown to matter by leaving it out."""
import pytest

import support

CASES = {
    # What a program can learn of init when it may be dumped.
    "undumpable": ("readlink /proc/1/exe", lambda out: "memfd" in out),
    # In init's own session, kill(0, ...) and a terminal's signals would be meant for init too.
    "own-session": ("cut -d' ' -f6 /proc/self/stat", lambda out: out.strip() == "1"),
    # The socket over which the supervisor gives its orders.
    "close-descriptors": ("readlink /proc/self/fd/3", lambda out: "socket" in out),
}


def attempt(defence, caller, without):
    code, _ = CASES[defence]
    env = {"SANDBOX_RUN_TEST_WITHOUT": defence} if without else None
    return support.shell(code, caller=caller, hooks=True, env=env)["stdout"]


@pytest.mark.parametrize("caller", support.available_callers())
@pytest.mark.parametrize("defence", CASES)
def test_an_attack_fails_with_the_defence_and_succeeds_without(defence, caller):
    succeeded = CASES[defence][1]
    assert not succeeded(attempt(defence, caller, without=False))
    assert succeeded(attempt(defence, caller, without=True))

"""Ids of root's runs: nobody else can hold them."""
import subprocess
import sys

import support
from harness import root_only

FIRST = 1950000000
# What held an id once, and what holds one now, by an ordinary user.
SQUAT = """
import fcntl, socket, struct, sys
names = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
for number, name in enumerate(names):
    name.bind(f"\\0sandbox-run/id/{int(sys.argv[1]) + number}")
try:
    open("/run/sandbox-run.ids", "rb")
    print("opened", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
sys.stdin.read()
"""


def run(count):
    return support.result_of("exec", "--", "id", caller="root", env={"SANDBOX_RUN_IDS": f"{FIRST}:{count}"})


@root_only
def test_another_user_holds_none_of_them():
    assert run(1)["exit_code"] == 0  # the file is there now
    with subprocess.Popen([*support.AS_ORDINARY, sys.executable, "-c", SQUAT, str(FIRST)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as squatter:
        assert squatter.stdout.readline() == "PermissionError\n"
        result = run(2)
        squatter.stdin.close()
    assert result.get("exit_code") == 0, result


@root_only
def test_one_that_runs_holds_its_id():
    line = support.command("exec", "--quiet", "--", "sh", "-c", "echo on; cat", caller="root")
    env = support.environment({"SANDBOX_RUN_IDS": f"{FIRST + 5}:1"}, "root")
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as running:
        assert running.stdout.readline() == b"on\n"
        busy = support.result_of("exec", "--", "true", caller="root", env={"SANDBOX_RUN_IDS": f"{FIRST + 5}:1"})
        running.kill()  # however it ends, the id is free
        running.communicate()
    assert "no user id is free" in busy["error"]["message"], busy
    free = support.result_of("exec", "--", "true", caller="root", env={"SANDBOX_RUN_IDS": f"{FIRST + 5}:1"})
    assert free.get("exit_code") == 0, free

"""Where everything is."""
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
REPO = TESTS.parent
MACHINES = HERE / "machines"
WORK = REPO / "build-hosts"  # kernels, file systems, logs: all can be made again
LOGS = WORK / "logs"

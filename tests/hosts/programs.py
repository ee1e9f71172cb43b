"""Programs that the tests would compile: made here, since emulation is slow and a guest may have
no compiler.  tests/support.py takes them from SBR_PROGRAMS."""
import shutil

from packages import DEBIAN, Failed, made, run
from paths import TESTS, WORK

ATTACKS = TESTS / "escape/attacks"
COMPILERS = {"x86_64": "gcc", "aarch64": "aarch64-linux-gnu-gcc"}
FLAGS = ["-O1", "-static", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-pthread"]


def _sources():
    alone = {name: ATTACKS / f"{name}.c" for name in ("probe", "kernel_memory")}
    return {
        "attack": sorted(set(ATTACKS.glob("*.c")) - set(alone.values())),
        **{name: [path] for name, path in alone.items()},
        "load": [TESTS / "blackbox/programs/load.c"],
    }


def programs(arch):
    """The directory with the programs for an architecture."""
    compiler = COMPILERS[arch]
    if not shutil.which(compiler):
        raise Failed(f"there is no {compiler}; tools/packages.sh hosts installs it")
    sources = _sources()
    texts = [path.read_bytes() for path in sorted(ATTACKS.iterdir())]
    texts += [path.read_bytes() for path in sources["load"]]

    def make(target):
        for name, files in sources.items():
            run([compiler, *FLAGS, "-o", target / name, *files])

    return made(WORK / "programs" / DEBIAN[arch], (FLAGS, texts), make)

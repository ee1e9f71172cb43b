"""One host is one file of data: machines/NAME.yaml.  README.md says what its fields mean."""
import dataclasses

import yaml

from packages import Failed
from paths import MACHINES, REPO

NETFILTER = ("nf_tables", "nft_tproxy", "nft_socket", "nft_ct", "nft_nat", "nft_masq", "nft_redir",
             "nft_chain_nat", "nft_fib_inet", "nft_reject_inet", "nft_log", "nft_limit")
MODULES = (*NETFILTER, "loop")
TIERS = ("container", "reduced", "process")
WAYS = ("tproxy", "redirect", "ports")
MEMORY_MIB = 2560
DEADLINE_S = 1800


@dataclasses.dataclass(frozen=True)
class Expected:
    tier: str = "container"
    missing: tuple = ()
    absent: tuple = ()  # tests: a pattern of names, why: a sentence; they have no premise there
    skips: tuple = ()  # patterns of "name: reason" of skips that are right there
    remedies: str = ""  # the tier that the printed remedies promise; empty where there are none
    reboot: str = ""  # the tier after a boot with the arguments that doctor names
    user: str = ""  # who runs the tests, where that is not the host's user
    network: tuple = ("tproxy",)  # how connections leave a sandbox; then those that a test build is tried with
    ipv6: bool = True


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    about: str
    arch: str = "x86_64"
    kernel: tuple = ()
    modules: tuple = MODULES
    root: str = "this-machine"
    init: str = "ours"
    machine: str = "emulated"
    user: str = "root"
    cgroup: str = ""
    setup: str = ""
    inside: str = ""
    expect: Expected = Expected()
    tests: tuple = ("host", "limits", "blackbox", "escape", "remedies")
    processors: int = 1  # two guests at a time, of two processors each, would wait for each other's locks
    memory: int = MEMORY_MIB
    deadline: int = DEADLINE_S

    @property
    def build(self):
        return REPO / ("build" if self.arch == "x86_64" else "build-aarch64")

    @property
    def test_build(self):
        return REPO / ("build-test" if self.arch == "x86_64" else "build-aarch64-test")


def _only(kind, words, where):
    names = {field.name for field in dataclasses.fields(kind)} - {"name"}
    unknown = sorted(set(words) - names)
    if unknown:
        raise Failed(f"{where}: there is no {', '.join(unknown)}; there is {', '.join(sorted(names))}")
    return {key: tuple(value) if isinstance(value, list) else value for key, value in words.items()}


def _words(name):
    """The file of a host, over that of the host that it is like: `also` adds lines to the set-up,
    `absent` and `skips` add to what is expected there."""
    path = MACHINES / f"{name}.yaml"
    if not path.exists():
        raise Failed(f"there is no host '{name}'; there are: {', '.join(names())}")
    words = yaml.safe_load(path.read_text(encoding="utf-8"))
    base = _words(words.pop("like")) if "like" in words else {}
    known, own = base.pop("expect", {}), words.get("expect", {})
    added = {key: known.get(key, []) + own.get(key, []) for key in ("absent", "skips")}
    words = {**base, **words, "expect": {**known, **own, **added}}
    words["setup"] = words.get("setup", "") + words.pop("also", "")
    return words


def load(name):
    words = _only(Host, _words(name), name)
    expect = Expected(**_only(Expected, words.pop("expect"), name))
    if expect.tier not in TIERS:
        raise Failed(f"{name}: there is no tier '{expect.tier}'")
    if not set(expect.network) <= set(WAYS):
        raise Failed(f"{name}: the network's ways are {', '.join(WAYS)}")
    words["user"] = str(words.get("user", "root"))
    expect = dataclasses.replace(expect, user=str(expect.user or words["user"]))
    return Host(name=name, expect=expect, **words)


def rebooted(host, said):
    """The host after the change of its kernel arguments that doctor's checks name: `-cgroup_disable=memory`,
    `+lsm=landlock,yama`.  Nothing may be missing then."""
    changes = [check["boot"] for check in said.get("checks", ()) if check.get("boot")]
    if not changes:
        raise Failed(f"{host.name}: doctor names no kernel argument")
    more = [change[1:] for change in changes if change.startswith("+")]
    gone = [change[1:] for change in changes if change.startswith("-")]
    gone += [argument for argument in host.kernel
             if any(argument.split("=")[0] == other.split("=")[0] for other in more)]
    kernel = (*(argument for argument in host.kernel if argument not in gone), *more)
    if set(kernel) == set(host.kernel):
        raise Failed(f"{host.name}: what doctor names changes nothing: {changes}")
    expect = Expected(tier=host.expect.reboot, user=host.expect.user)
    return dataclasses.replace(host, name=f"{host.name}-again", kernel=kernel, expect=expect,
                               tests=("host", "limits"))


def names():
    return sorted(path.stem for path in MACHINES.glob("*.yaml"))

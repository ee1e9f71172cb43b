"""One host is one file of data: machines/NAME.yaml.  README.md says what its fields mean."""
import dataclasses

import yaml

from packages import Failed
from paths import MACHINES, REPO

NETFILTER = ("nf_tables", "nft_tproxy", "nft_socket", "nft_ct", "nft_nat", "nft_masq", "nft_redir",
             "nft_chain_nat", "nft_fib_inet", "nft_reject_inet", "nft_log", "nft_limit")
TIERS = ("container", "reduced", "process")
MEMORY_MIB = 2560
DEADLINE_S = 900


@dataclasses.dataclass(frozen=True)
class Expected:
    tier: str = "container"
    missing: tuple = ()
    absent: tuple = ()  # tests: a pattern of names, why: a sentence; they have no premise there
    skips: tuple = ()  # patterns of "name: reason" of skips that are right there
    remedies: str = ""  # the tier that the printed remedies promise; empty where there are none


@dataclasses.dataclass(frozen=True)
class Host:
    name: str
    about: str
    arch: str = "x86_64"
    kernel: tuple = ()
    modules: tuple = NETFILTER
    root: str = "this-machine"
    init: str = "ours"
    user: str = "root"
    cgroup: str = ""
    setup: str = ""
    expect: Expected = Expected()
    tests: tuple = ("host", "limits", "blackbox", "escape", "remedies")
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
    """The file of a host, over that of the host that it is like; `also` adds lines to the set-up."""
    path = MACHINES / f"{name}.yaml"
    if not path.exists():
        raise Failed(f"there is no host '{name}'; there are: {', '.join(names())}")
    words = yaml.safe_load(path.read_text(encoding="utf-8"))
    base = _words(words.pop("like")) if "like" in words else {}
    words["expect"] = {**base.pop("expect", {}), **words.get("expect", {})}
    words = {**base, **words}
    words["setup"] = words.get("setup", "") + words.pop("also", "")
    return words


def load(name):
    words = _only(Host, _words(name), name)
    expect = Expected(**_only(Expected, words.pop("expect"), name))
    if expect.tier not in TIERS:
        raise Failed(f"{name}: there is no tier '{expect.tier}'")
    words["user"] = str(words.get("user", "root"))
    return Host(name=name, expect=expect, **words)


def names():
    return sorted(path.stem for path in MACHINES.glob("*.yaml"))

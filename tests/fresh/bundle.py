"""Prints the configuration of an OCI bundle like those of docker: its capabilities, masked paths and filter.

Usage: bundle.py ROOT COMMAND WORD...     The filter is containers-common's copy of docker's; limits of resources are
left out, since only a machine with CAP_SYS_RESOURCE can set them.
"""
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

FILTER = Path("/usr/share/containers/seccomp.json")
CAPABILITIES = [f"CAP_{name}" for name in (
    "CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL "
    "AUDIT_WRITE").split()]
ARCHITECTURE = {"x86_64": ("amd64", "SCMP_ARCH_X86_64"), "aarch64": ("arm64", "SCMP_ARCH_AARCH64")}[platform.machine()]


def holds(rule):
    """Whether a rule of the file is for these capabilities and this machine."""
    only, never = rule.get("includes", {}), rule.get("excludes", {})
    return (set(only.get("caps", ())) <= set(CAPABILITIES) and not set(never.get("caps", ())) & set(CAPABILITIES)
            and ARCHITECTURE[0] in only.get("arches", [ARCHITECTURE[0]])
            and ARCHITECTURE[0] not in never.get("arches", ()))


def seccomp():
    found = json.loads(FILTER.read_text(encoding="utf-8"))
    kept = ("names", "action", "args", "errnoRet")
    rules = [{key: rule[key] for key in kept if rule.get(key)} for rule in found["syscalls"] if holds(rule)]
    return {"defaultAction": found["defaultAction"], "defaultErrnoRet": found.get("defaultErrnoRet", 1),
            "architectures": [ARCHITECTURE[1]], "syscalls": rules}


def bundle(root, words):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        config = json.loads(Path(folder, "config.json").read_text(encoding="utf-8"))
    process = config["process"]
    process.pop("rlimits", None)
    process.update(terminal=False, args=words, cwd="/", noNewPrivileges=False,
                   capabilities={name: CAPABILITIES for name in ("bounding", "effective", "permitted")})
    config["root"] = {"path": os.path.abspath(root), "readonly": False}
    config["linux"].update(resources={}, seccomp=seccomp())
    # Docker's containers reach the network; this one uses the machine's.
    config["linux"]["namespaces"] = [space for space in config["linux"]["namespaces"] if space["type"] != "network"]
    return config


if __name__ == "__main__":
    json.dump(bundle(sys.argv[1], sys.argv[2:]), sys.stdout)

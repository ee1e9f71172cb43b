"""The initramfs: busybox, the modules that mount the root file system, and guest/init."""
import re
import shutil
import subprocess

from packages import Failed, kernel, made
from paths import HERE, WORK

# What every guest loads; a host's file names further ones.
ALWAYS = ("virtio_pci", "virtio_console", "virtiofs", "overlay", "virtio_rng")
# Everything that a host's file may name.
OFFERED = ("nf_tables", "nft_tproxy", "nft_socket", "nft_ct", "nft_nat", "nft_masq", "nft_redir",
           "nft_chain_nat", "nft_fib_inet", "nft_reject_inet", "nft_log", "nft_limit", "nft_quota",
           "tun", "veth", "dummy", "bridge", "loop", "squashfs", "9pnet_virtio", "virtio_net")


def _modules(root):
    """From the name of a module to its file and the files that it needs, by modules.dep."""
    lines = next((root / "lib/modules").glob("*/modules.dep")).read_text().splitlines()
    found = {}
    for line in lines:
        path, _, needs = line.partition(":")
        name = re.sub(r"\.ko.*$", "", path.rsplit("/", 1)[-1]).replace("-", "_")
        found[name] = [path, *needs.split()]
    return found


def _fill(arch, target):
    root = kernel(arch)
    tree = target / "tree"
    version = next((root / "lib/modules").iterdir()).name
    for name in ("bin", "dev", "proc", "sys", "tmp", "new", "low", "up"):
        (tree / name).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", tree / "bin/busybox")
    shutil.copy(HERE / "guest/init", tree / "init")
    known = _modules(root)
    lines = []
    for name in (*ALWAYS, *OFFERED):
        for path in known.get(name, ()):  # what is not there is built in
            lines.append(path)
            source = root / "lib/modules" / version / path
            copy = tree / "lib/modules" / version / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    for table in ("modules.dep", "modules.builtin", "modules.alias", "modules.symbols"):
        source = root / "lib/modules" / version / table
        if source.exists():
            shutil.copy(source, tree / "lib/modules" / version / table)
    names = sorted(str(path.relative_to(tree)) for path in tree.rglob("*"))
    with open(target / "initrd", "wb") as output:
        done = subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=tree,
                              input="\n".join(names).encode(), stdout=output, check=False)
    if done.returncode:
        raise Failed("cpio failed")
    shutil.rmtree(tree)


def initramfs(arch):
    """The file for QEMU's -initrd."""
    recipe = ((HERE / "guest/init").read_text(encoding="utf-8"), ALWAYS, OFFERED,
              str(next((kernel(arch) / "lib/modules").iterdir())))
    return made(WORK / "initramfs" / arch, recipe, lambda target: _fill(arch, target)) / "initrd"

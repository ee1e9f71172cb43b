"""`make install` puts everything in its place, and what is installed works from there."""
import os
import pathlib
import shutil
import subprocess

import pytest

import support


@pytest.fixture(scope="module")
def installed(session_folder):
    """In a copy of the tree, so that the build that others use is left alone."""
    tree, target = session_folder / "tree", session_folder / "installed"
    listed = subprocess.run(["git", "-C", support.REPO, "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (support.REPO / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(support.REPO / name, tree / name)
    done = subprocess.run(["make", "-C", tree, "install", f"DESTDIR={target}", "PREFIX=/usr"],
                          capture_output=True, check=False,
                          env={"PATH": os.environ.get("PATH", "/usr/bin:/bin")})
    assert done.returncode == 0, done.stderr.decode()
    return target / "usr"


def find(place, name):
    return next(iter(place.glob(f"lib/**/{name}")), None)


def test_everything_is_installed_in_its_place(installed):
    assert os.access(installed / "bin" / "sandbox-run", os.X_OK)
    assert (installed / "include" / "sandboxrun.h").read_bytes() == \
        (support.REPO / "include" / "sandboxrun.h").read_bytes()
    for name in ("libsandboxrun.so", "libsandboxrun.so.0", "libsandboxrun.a", "sandboxrun.pc"):
        assert find(installed, name), name
    unit = find(installed, "systemd/user/sandbox-run@.service").read_text(encoding="utf-8")
    assert "ExecStart=/usr/bin/sandbox-run " in unit and "Delegate=yes" in unit
    assert "@" not in unit.replace("sandbox-run@", ""), "something was not filled in"


def test_the_installed_program_runs_from_there(caller, installed, folder):
    program = shutil.copy(installed / "bin" / "sandbox-run", folder)  # alone, without its tree
    words = support.command("run", "--lang", "python", "--code", "print('installed')",
                            caller=caller)
    words[words.index(str(support.SANDBOX_RUN))] = program
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"installed\n", b"")


def test_the_installed_program_reads_requests_as_well(root, installed):
    done = subprocess.run([installed / "bin" / "sandbox-run", "run", "--request", "-"],
                          input=b'{"args": ["echo", "requested"]}', capture_output=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"requested\n", b"")


def test_pkg_config_leads_a_compiler_to_the_library(root, installed, folder):
    if not support.have("pkg-config"):
        pytest.skip("pkg-config is not installed")
    config = find(installed, "sandboxrun.pc")
    assert config.read_text().startswith("prefix=/usr\n")
    words = subprocess.run(["pkg-config", "--cflags", "--libs", "sandboxrun"], check=True,
                           capture_output=True, text=True,
                           env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(config.parent),
                                "PKG_CONFIG_SYSROOT_DIR": str(installed.parent)}).stdout.split()
    target = folder / "example"
    library = str(pathlib.Path(find(installed, "libsandboxrun.so")).parent)
    subprocess.run(["gcc", support.REPO / "docs/example/example.c", "-o", target,
                    f"-I{installed}/include", f"-L{library}", *words], check=True)
    done = subprocess.run([target], capture_output=True, timeout=60, check=False,
                          env={"LD_LIBRARY_PATH": library})
    assert done.returncode == 0 and b"hello, world" in done.stdout, done.stderr

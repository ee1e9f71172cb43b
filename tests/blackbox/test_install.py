"""`make install` puts everything in its place, and what is installed works from there."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

import machine_gives
import support


MESON = "/usr/bin/meson"
AS_BUILT = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}


@pytest.fixture(scope="module")
def prefix():
    """Of the build that is tested."""
    options = json.loads((support.BUILD / "meson-info/intro-buildoptions.json").read_text(encoding="utf-8"))
    return next(option["value"] for option in options if option["name"] == "prefix")


@pytest.fixture(scope="module")
def installed(session_folder, prefix):
    """The build as it is: others use it, so `make` takes it for up to date (-o all)."""
    target = session_folder / "installed"
    words = ["make", "-C", support.REPO, "-o", "all", "install", f"DESTDIR={target}", f"PREFIX={prefix}"]
    if support.BUILD != support.REPO / "build":
        words = [MESON, "install", "-C", support.BUILD, "--no-rebuild", "--quiet", "--destdir", target]
    done = subprocess.run(words, capture_output=True, check=False, env=AS_BUILT)
    assert done.returncode == 0, done.stderr.decode()
    return target / prefix.lstrip("/")


def find(place, name):
    return next(iter(place.glob(f"lib/**/{name}")), None)


def test_everything_is_installed_in_its_place(installed, prefix):
    assert os.access(installed / "bin" / "sandbox-run", os.X_OK)
    assert (installed / "include" / "sandboxrun.h").read_bytes() == \
        (support.REPO / "include" / "sandboxrun.h").read_bytes()
    for name in ("libsandboxrun.so", "libsandboxrun.so.0", "libsandboxrun.a", "sandboxrun.pc"):
        assert find(installed, name), name
    unit = find(installed, "systemd/user/sandbox-run@.service").read_text(encoding="utf-8")
    assert f"ExecStart={prefix}/bin/sandbox-run " in unit and "Delegate=yes" in unit
    assert "@" not in unit.replace("sandbox-run@", ""), "something was not filled in"


def test_another_prefix_is_in_every_file_that_names_one(folder):
    """Configured, not compiled: no program has it built in."""
    done = subprocess.run([MESON, "setup", folder / "build", support.REPO, "--prefix=/opt/here"], capture_output=True,
                          check=False, env=AS_BUILT)
    assert done.returncode == 0, done.stdout.decode()
    places = json.loads((folder / "build/meson-info/intro-installed.json").read_text(encoding="utf-8")).values()
    assert "/opt/here/bin/sandbox-run" in places and all(place.startswith("/opt/here/") for place in places)
    (config,) = (folder / "build").rglob("sandboxrun.pc")
    assert config.read_text(encoding="utf-8").startswith("prefix=/opt/here\n")
    (unit,) = (folder / "build").rglob("sandbox-run@.service")
    assert "ExecStart=/opt/here/bin/sandbox-run " in unit.read_text(encoding="utf-8")


def test_the_installed_program_runs_from_there(caller, installed, folder):
    program = shutil.copy(installed / "bin" / "sandbox-run", folder)  # alone, without its tree
    words = support.command("run", "--lang", "python", "--code", "print('installed')",
                            caller=caller)
    words[words.index(str(support.SANDBOX_RUN))] = program
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"installed\n", b"")


def test_the_installed_program_reads_requests_as_well(root, installed):
    machine_gives.skip_if(support.lacks(root))
    done = subprocess.run([installed / "bin" / "sandbox-run", "run", "--request", "-"],
                          input=b'{"args": ["echo", "requested"]}', capture_output=True,
                          timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"requested\n", b"")


def test_pkg_config_leads_a_compiler_to_the_library(root, installed, prefix, folder):
    if not support.have("pkg-config"):
        pytest.skip("pkg-config is not installed")
    config = find(installed, "sandboxrun.pc")
    assert config.read_text().startswith(f"prefix={prefix}\n")
    words = subprocess.run(["pkg-config", "--cflags", "--libs", "sandboxrun"], check=True,
                           capture_output=True, text=True,
                           env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(config.parent),
                                "PKG_CONFIG_SYSROOT_DIR": str(installed).removesuffix(prefix)}).stdout.split()
    target = folder / "example"
    library = str(pathlib.Path(find(installed, "libsandboxrun.so")).parent)
    subprocess.run(["gcc", support.REPO / "docs/example/example.c", "-o", target,
                    f"-I{installed}/include", f"-L{library}", *words], check=True)
    machine_gives.skip_if(support.lacks(root))
    done = subprocess.run([target], capture_output=True, timeout=60, check=False,
                          env={"LD_LIBRARY_PATH": library})
    assert done.returncode == 0 and b"hello, world" in done.stdout, done.stderr

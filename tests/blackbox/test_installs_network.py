"""An installer reaches the registries that its client is configured for, and nothing else.

The registry is one of our own on loopback.  A cpanfile is a program of the project, which runs while packages are
fetched, and tries what else there is.  A package of Python is built by code that it brings, when all is fetched: that
code has no network at all.
"""
import gzip
import io
import json
import os
import zipfile

import pytest

import support
from registries import denied, installer, serving, stage, tar_of

pytestmark = pytest.mark.group("installs", weight=10)  # they take long: others begin beside them

BACKEND = '''
import json, socket, zipfile

def attempt(call):
    try:
        return [True, str(call())]
    except OSError as problem:
        return [False, str(problem)]

def ask(host, port):
    """A connection to our side is no proof: somebody has to answer."""
    with socket.create_connection((host, port), timeout=20) as connection:
        connection.sendall(b"GET /nothing HTTP/1.0\\r\\n\\r\\n")
        answer = connection.recv(9)
        if not answer:
            raise OSError("nobody there")
        return answer

def build_wheel(directory, config_settings=None, metadata_directory=None):
    with open("targets.json") as file:
        targets = json.load(file)
    found = {f"{host}:{port}": attempt(lambda: ask(host, port)) for host, port in targets}
    for name in ("tcp", "tcp6", "udp", "unix", "dev", "route"):
        with open(f"/proc/net/{name}") as file:
            found[name] = file.read()
    with zipfile.ZipFile(f"{directory}/curious-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("curious.py", f"FOUND = {found!r}")
        wheel.writestr("curious-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: curious\\nVersion: 1.0\\n")
        wheel.writestr("curious-1.0.dist-info/WHEEL",
                       "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("curious-1.0.dist-info/RECORD", "")
    return "curious-1.0-py3-none-any.whl"
'''
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' \
          '[project]\nname = "curious"\nversion = "1.0"\n'
SHOW = "import curious, json; print(json.dumps(curious.FOUND))"

# Read for the first time while there is a network, and for the second time when there is none.
CPANFILE = r"""
use IO::Socket::IP;
requires "Curious";
unless (-e "/deps/found") {
    mkdir "/deps";
    my @found;
    for my $target (qw(TARGETS)) {
        my ($host, $port) = $target =~ /(.*):(.*)/;
        my $to = IO::Socket::IP->new(PeerHost => $host, PeerPort => $port, Timeout => 20) or next;
        print $to "GET /nothing HTTP/1.0\r\n\r\n";
        push @found, $target if defined <$to>;
    }
    open my $file, ">", "/deps/found" or die;
    print $file join(" ", @found), "\n";
    for my $name (qw(tcp tcp6 unix dev route)) {
        open my $in, "<", "/proc/net/$name" or die;
        print $file "== $name\n", <$in>;
    }
    close $file;
}
"""
SHOW_FOUND = 'open my $file, "<", "/deps/found" or die; print <$file>;'


def cpan(registry):
    index = "File: 02packages.details.txt\nLine-Count: 1\n\nCurious 1.0 C/CU/CURIOUS/Curious-1.0.tar.gz\n"
    registry.pages = {
        "/modules/02packages.details.txt.gz": gzip.compress(index.encode()),
        "/authors/id/C/CU/CURIOUS/Curious-1.0.tar.gz": tar_of({
            "Curious-1.0/Makefile.PL": 'use ExtUtils::MakeMaker; WriteMakefile(NAME => "Curious", VERSION => "1.0");',
            "Curious-1.0/lib/Curious.pm": "package Curious;\n1;\n"})}


def look_around(install, registry, folder, targets, *options, env=None):
    """What a cpanfile reaches, and what it sees of sockets."""
    cpan(registry)
    (folder / "cpanfile").write_text(CPANFILE.replace("TARGETS", " ".join(targets)))
    env = {"PERL_CPANM_OPT": f"--mirror http://localhost:{registry.port}/ --mirror-only", **(env or {})}
    result = install("--file", folder / "cpanfile", *options, language="perl", code=SHOW_FOUND, env=env)
    assert result["exit_code"] == 0, result
    reached, *parts = result["stdout"].split("== ")
    return result, set(reached.split()), {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def source_package(targets):
    return tar_of({f"curious-1.0/{name}": text for name, text in {
        "backend.py": BACKEND, "pyproject.toml": PROJECT,
        "PKG-INFO": "Metadata-Version: 2.1\nName: curious\nVersion: 1.0\n", "targets.json": json.dumps(targets)}.items()})


@pytest.fixture
def registry():
    with serving() as server:
        yield server


@pytest.fixture
def other():
    """Something else on the host's loopback that has the package too."""
    with serving() as server:
        server.package = source_package([])
        yield server


@pytest.fixture
def install(any_caller, folder):
    """Which registries are opened is decided before it matters who calls."""
    return installer(any_caller, folder, SHOW)


@pytest.fixture
def install_by_each(caller, folder):
    return installer(caller, folder, SHOW)


def test_what_runs_while_packages_are_fetched_reaches_the_registry_and_nothing_else(install_by_each, registry, other,
                                                                                    folder):
    ours = {f"{host}:{registry.port}" for host in ("127.0.0.1", "localhost")}
    others = [f"127.0.0.1:{other.port}", f"localhost:{other.port}", f"127.0.0.2:{registry.port}", "93.184.216.34:80",
              "169.254.169.254:80", "elsewhere.example:443", "pypi.org:443"]
    result, reached, seen = look_around(install_by_each, registry, folder, [*ours, *others])
    assert reached == ours
    assert not other.asked
    refused = denied(stage(result))
    for one in (("connect", "93.184.216.34:80"), ("connect", "169.254.169.254:80"), ("name", "elsewhere.example"),
                ("name", "pypi.org")):
        assert one in refused, stage(result)["denials"]
    sockets = seen["tcp"].splitlines()[1:] + seen["tcp6"].splitlines()[1:]
    assert not [line for line in sockets if line.split()[1].endswith(f":{other.port:04X}")], "a listener of the host"
    assert [line.split(":")[0].strip() for line in seen["dev"].splitlines()[2:]] == ["lo"]
    assert "@" not in seen["unix"] and "/run/" not in seen["unix"]
    assert all("lo" in line.split()[0] for line in seen["route"].splitlines()[1:])


def test_code_of_a_package_reaches_nothing(install_by_each, registry):
    """Not even its own registry, which has fetched it: the network is given back before it is built."""
    registry.package = source_package([["127.0.0.1", registry.port], ["localhost", registry.port], ["93.184.216.34", 80],
                                       ["close.sandbox-run.internal", registry.port]])
    result = install_by_each("--dep", "curious", env={"PIP_INDEX_URL": registry.url})
    assert result["outcome"] == "exited" and result["exit_code"] == 0, result
    found = json.loads(result["stdout"])
    assert not [target for target in found if ":" in target and found[target][0] is True], found
    assert ("connect", "93.184.216.34:80") in denied(stage(result)), stage(result)["denials"]


@pytest.mark.parametrize("words", ["--index-url", "--extra-index-url", "--find-links"])
def test_a_list_of_the_project_opens_nothing(install, registry, other, folder, words):
    registry.package = b""  # the page is there, and the file is not
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{words} http://127.0.0.1:{other.port}/simple\ncurious==1.0\n")
    result = install("--file", wanted, env={"PIP_INDEX_URL": registry.url}, code="import curious")
    assert result["outcome"] == "install_failed", result["outcome"]
    assert not other.asked


def test_an_address_in_a_list_of_the_project_is_named_when_it_is_refused(install, registry, folder):
    wanted = folder / "requirements.txt"
    wanted.write_text("--index-url https://elsewhere.example/simple\ncurious==1.0\n")
    result = install("--file", wanted, env={"PIP_INDEX_URL": registry.url}, code="import curious")
    assert result["outcome"] == "install_failed"
    assert ("name", "elsewhere.example") in denied(result), result["denials"]
    remedy = next(d["remedy"] for d in result["denials"] if d["target"] == "elsewhere.example")
    assert "SANDBOX_RUN_REGISTRIES=elsewhere.example" in remedy and "--allow-host" not in remedy
    assert stage(result)["metrics"]["wall_ms"] < 30000, "a refusal is no reason to wait"


def test_what_the_operator_adds_is_reached(install_by_each, registry, other, folder):
    target = f"127.0.0.1:{other.port}"
    _, reached, _ = look_around(install_by_each, registry, folder, [target], env={"SANDBOX_RUN_REGISTRIES": target})
    assert reached == {target}


def test_a_file_of_the_client_counts_as_well(install, registry):
    registry.package = source_package([])
    place = install.home / ".config" / "pip"
    place.mkdir(parents=True)
    (place / "pip.conf").write_text(f"# https://old.example/\n[global]\nindex-url = {registry.url}\n")
    result = install("--dep", "curious")
    assert result["exit_code"] == 0, result
    assert "/curious-1.0.tar.gz" in registry.asked


def test_the_operators_proxy_is_for_the_way_out_alone(install, registry, other, folder):
    """What a proxy reaches is not for what runs inside, and neither is the proxy."""
    target = f"127.0.0.1:{other.port}"
    _, reached, _ = look_around(install, registry, folder, [target, f"localhost:{other.port}"],
                                env={"https_proxy": f"http://{target}", "http_proxy": target, "no_proxy": "localhost"})
    assert not reached and not other.asked


def test_options_for_the_program_open_nothing_for_its_installer(install, registry, other, folder):
    target = f"127.0.0.1:{other.port}"
    _, reached, _ = look_around(install, registry, folder, [target], "--network", "allow", "--allow-host", target)
    assert not reached


def test_registries_open_nothing_for_the_program(install, registry):
    registry.package = source_package([])
    code = f"import curious, socket\nsocket.create_connection(('127.0.0.1', {registry.port}))"
    result = install("--dep", "curious", env={"PIP_INDEX_URL": registry.url}, code=code)
    assert result["exit_code"] == 1 and "socket.create_connection" in result["stderr"], result["stderr"]


ASK = "import curious; print(curious.SAID)"
WHEEL = "curious-1.0-py3-none-any.whl"


def wheel(letter):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in {"curious.py": f"SAID = {letter!r}",
                           "curious-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: curious\nVersion: 1.0\n",
                           "curious-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\n"
                                                          "Tag: py3-none-any\n",
                           "curious-1.0.dist-info/RECORD": ""}.items():
            archive.writestr(name, text)
    return packed.getvalue()


def test_packages_of_one_registry_are_not_those_of_another(install, registry, other, folder):
    """The same name and version, in two indexes and in a directory: a run has what it is configured for."""
    for server, letter in ((registry, "A"), (other, "B")):
        server.pages = {"/simple/curious/": f'<a href="/{WHEEL}">{WHEEL}</a>'.encode(), f"/{WHEEL}": wheel(letter)}
    place = install.home / ".config" / "pip"
    place.mkdir(parents=True)
    config = place / "pip.conf"

    def said(env=None, text=""):
        config.write_text(text)
        result = install("--dep", "curious", env=env, code=ASK)
        assert result["exit_code"] == 0, result
        return result["stdout"].strip(), [stage["name"] for stage in result["stages"]]

    new, kept = ["dependencies", "run"], ["run"]
    assert said({"PIP_INDEX_URL": registry.url}) == ("A", new)
    assert said({"PIP_INDEX_URL": other.url}) == ("B", new)
    assert said({"PIP_INDEX_URL": registry.url}) == ("A", kept)
    # The same by a file of the client's.
    assert said(text=f"[global]\nindex-url = {other.url}\n") == ("B", new)
    assert said(text=f"[global]\nindex-url = {registry.url}\n") == ("A", new)
    assert said(text=f"[global]\nindex-url = {other.url}\n") == ("B", kept)
    # Credentials are no other registry.
    secret = registry.url.replace("//", "//user:one@")
    assert said(text=f"[global]\nindex-url = {secret}\n") == ("A", kept)
    assert said({"PIP_INDEX_URL": secret.replace("one", "two")}) == ("A", kept)
    # A directory counts by what is in it.
    links = folder / "links"
    links.mkdir()
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links)}
    for letter in "CD":
        (links / WHEEL).write_bytes(wheel(letter))
        assert said(offline) == (letter, new)
        assert said(offline) == (letter, kept)


NPM_INDEX = '{"name": "curious", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "curious", ' \
            '"version": "1.0.0", "dist": {"tarball": "http://localhost:%d/curious/-/curious-1.0.0.tgz"}}}}'


def npm_package(letter):
    return tar_of({"package/package.json": '{"name": "curious", "version": "1.0.0"}',
                   "package/index.js": f"module.exports = {letter!r}"})


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_registries_of_npm_are_told_apart(install, registry, other):
    for server, letter in ((registry, "A"), (other, "B")):
        server.pages = {"/curious": (NPM_INDEX % server.port).encode(),
                        "/curious/-/curious-1.0.0.tgz": npm_package(letter)}
    for server, letter in ((registry, "A"), (other, "B"), (registry, "A")):
        (install.home / ".npmrc").write_text(f"registry=http://localhost:{server.port}/\n"
                                             f"//localhost:{server.port}/:_authToken={os.urandom(8).hex()}\n")
        result = install("--dep", "curious", language="javascript", code="console.log(require('curious'))")
        assert (result["exit_code"], result["stdout"].strip()) == (0, letter), result
    assert [stage["name"] for stage in result["stages"]] == ["run"], "the first layer was found again"


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_settings_of_the_projects_npmrc_hold_beside_the_users(install, registry, folder):
    """The package wants a peer that is nowhere.  The mirror is the user's, whatever the project says."""
    index = json.loads(NPM_INDEX % registry.port)
    index["versions"]["1.0.0"]["peerDependencies"] = {"absent": "*"}
    registry.pages = {"/curious": json.dumps(index).encode(), "/curious/-/curious-1.0.0.tgz": npm_package("A")}
    (install.home / ".npmrc").write_text(f"registry=http://localhost:{registry.port}/\n")
    (folder / "package.json").write_text('{"dependencies": {"curious": "1"}}')
    settings = folder / ".npmrc"
    settings.write_text("registry=https://registry.npmjs.org/\nlegacy-peer-deps=true\n")
    words = ["--file", folder / "package.json"]
    code = "console.log(require('curious'))"
    result = install(*words, "--file", settings, language="javascript", code=code)
    assert (result["exit_code"], result["stdout"]) == (0, "A\n"), result
    result = install(*words, language="javascript", code=code)
    assert result["outcome"] == "install_failed" and "absent" in stage(result)["stderr"], result

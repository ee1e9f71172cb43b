"""Credentials of the package clients do not enter a sandbox.

What runs beside an installer tries to bring them back: lists that expand variables, lists that are programs, scripts of
packages.  Each attack says ATTACK in what it brings back, so that one that did not run is no proof.
"""
import base64
import hashlib
import io
import json
import os
import pathlib
import subprocess
import zipfile

import pytest

import support
import test_installs_managers as managers
from registries import installer, serving, stage, tar_of

pytestmark = pytest.mark.group("installs", weight=10)

CANARY = "c4nary" + os.urandom(8).hex()
BASIC = base64.b64encode(f"me:{CANARY}".encode()).decode()


@pytest.fixture
def registry():
    with serving() as server:
        yield server


@pytest.fixture
def install(any_caller, folder):
    return installer(any_caller, folder)


def has_canary(result):
    text = json.dumps(result, default=str)
    return CANARY in text or BASIC in text


def with_user(registry, path=""):
    return f"http://me:{CANARY}@localhost:{registry.port}/{path}"


PROXY = {name: f"http://me:{CANARY}@127.0.0.1:9" for name in ("http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY")}

# Language: the list, its text, files of the home directory, variables; {url} has the canary.
LISTS = {
    "pip": ("python", "requirements.txt", "!!! ATTACK ${{PIP_INDEX_URL}} ${{HTTPS_PROXY}}\n", {},
            {"PIP_INDEX_URL": "{url}simple"}),
    "gem": ("ruby", "Gemfile", 'gem "x"\nabort "ATTACK #{{ENV.to_h}} #{{Dir.glob("/work/**/*", File::FNM_DOTMATCH)'
            '.select {{ |f| File.file?(f) }}.map {{ |f| File.read(f) }}}} #{{`cat /proc/[0-9]*/environ`}}"\n',
            {".gemrc": ":sources:\n- {url}\n"}, {}),
    "cpan": ("perl", "cpanfile", 'requires "X";\ndie "ATTACK ", join(" ", %ENV), `cat /proc/*/environ /proc/*/cmdline`;\n', {},
             {"PERL_CPANM_OPT": "--mirror {url} --mirror-only"}),
}


@pytest.mark.parametrize("client", LISTS)
def test_a_list_that_is_a_program_finds_no_credentials(install, registry, folder, client):
    language, name, text, files, env = LISTS[client]
    url = with_user(registry)
    (folder / name).write_text(text.format(url=url))
    for file, words in files.items():
        (install.home / file).write_text(words.format(url=url))
    result = install("--file", folder / name, language=language, code="",
                     env={**PROXY, **{key: value.format(url=url) for key, value in env.items()}})
    assert result["outcome"] == "install_failed", result
    assert "ATTACK" in stage(result)["stderr"], stage(result)["stderr"]
    assert not has_canary(result), "a credential came back"


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
def test_settings_of_the_project_do_not_expand_credentials(install, registry, folder):
    (folder / "package.json").write_text('{"dependencies": {"curious": "1"}}')
    settings = folder / ".npmrc"
    settings.write_text(f"registry=http://localhost:{registry.port}/ATTACK-${{NPM_CONFIG_REGISTRY}}-${{HTTPS_PROXY}}/\n")
    result = install("--file", folder / "package.json", "--file", settings, language="javascript", code="",
                     env={**PROXY, "NPM_CONFIG_REGISTRY": with_user(registry)})
    assert result["outcome"] == "install_failed", result
    assert not has_canary(result), "a credential came back"
    assert CANARY not in str(registry.asked)


# A script of a package that fails is shown; it looks at all that it can read.
LOOK = "echo ATTACK; env; cat $NPM_CONFIG_USERCONFIG $npm_config_userconfig /work/.npmrc; cat /proc/[0-9]*/environ " \
       "/proc/[0-9]*/cmdline | tr '\\\\0' '\\\\n'; false"


@pytest.mark.skipif(not support.have("npm"), reason="there is no npm here")
@pytest.mark.parametrize("place", ["home", "variable"])
def test_a_script_of_a_package_finds_no_token(install, registry, folder, place):
    index = {"name": "curious", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "curious", "version": "1.0.0", "hasInstallScript": True,
        "dist": {"tarball": f"http://localhost:{registry.port}/curious-1.0.0.tgz"}}}}
    registry.pages = {"/curious": json.dumps(index).encode(), "/curious-1.0.0.tgz": tar_of({
        "package/package.json": f'{{"name": "curious", "version": "1.0.0", "scripts": {{"postinstall": "{LOOK}"}}}}'})}
    file = install.home / ".npmrc" if place == "home" else folder / "settings"
    file.write_text(f"registry=http://localhost:{registry.port}/\n//localhost:{registry.port}/:_authToken={CANARY}\n"
                    f"//other.example/:_password={base64.b64encode(CANARY.encode()).decode()}\n")
    file.chmod(0o644)
    env = {} if place == "home" else {"NPM_CONFIG_USERCONFIG": str(file)}
    result = install("--dep", "curious", language="javascript", code="", env=env)
    assert result["outcome"] == "install_failed", result
    assert "ATTACK" in stage(result)["stderr"] + stage(result)["stdout"], stage(result)
    assert not has_canary(result), "a token came back"
    assert base64.b64encode(CANARY.encode()).decode() not in json.dumps(result, default=str)


# What the code of a package looks for, in all that it can read.  The pattern does not match itself.
PATTERN = "|".join(f"[{text[0]}]{text[1:]}" for text in (CANARY, BASIC))
SCAN = f"grep -rlaE '{PATTERN}' /work /etc /tmp /deps /home /root /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; " \
       "echo scanned"
BACKEND = """
import os, re, subprocess, zipfile

def memory():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            maps = open(f"/proc/{pid}/maps").read().splitlines()
            mem = open(f"/proc/{pid}/mem", "rb", 0)
        except OSError:
            continue
        found.append("read " + pid)
        for line in maps:
            start, end = (int(at, 16) for at in line.split()[0].split("-"))
            try:
                mem.seek(start)
                if re.search(PATTERN.encode(), mem.read(end - start)):
                    found.append("canary in " + line)
            except (OSError, ValueError, OverflowError, MemoryError):
                pass
    return found

def build_wheel(directory, config_settings=None, metadata_directory=None):
    files = subprocess.run(["sh", "-c", SCAN], capture_output=True, text=True).stdout
    with zipfile.ZipFile(directory + "/curious-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("curious.py", "SAID = " + repr(files + " ".join(memory())))
        wheel.writestr("curious-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: curious\\nVersion: 1.0\\n")
        wheel.writestr("curious-1.0.dist-info/WHEEL",
                       "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("curious-1.0.dist-info/RECORD", "")
    return "curious-1.0-py3-none-any.whl"
"""
BASIC_HEADER = f"Basic {BASIC}"


def set_pip(registry, _home, _folder):
    project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n' \
              '[project]\nname = "curious"\nversion = "1.0"\n'
    registry.package = tar_of({f"curious-1.0/{name}": text for name, text in {
        "backend.py": f"SCAN = {SCAN!r}\nPATTERN = {PATTERN!r}\n{BACKEND}", "pyproject.toml": project,
        "PKG-INFO": "Metadata-Version: 2.1\nName: curious\nVersion: 1.0\n"}.items()})
    return {"PIP_INDEX_URL": registry.url.replace("://", f"://me:{CANARY}@")}


def set_npm(registry, home, _folder):
    package = tar_of({"package/package.json": json.dumps({
        "name": "curious", "version": "1.0.0", "scripts": {"postinstall": f"({SCAN}) > said"}}),
        "package/index.js": "module.exports = require('fs').readFileSync(__dirname + '/said', 'utf8')"})
    index = {"name": "curious", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "curious", "version": "1.0.0", "hasInstallScript": True,
        "dist": {"tarball": f"{registry.base}/curious-1.0.0.tgz"}}}}
    registry.pages = {"/curious": json.dumps(index).encode(), "/curious-1.0.0.tgz": package}
    (home / ".npmrc").write_text(f"registry={registry.base}/\n//localhost:{registry.port}/:_auth={BASIC}\n")


def set_gem(registry, home, folder):
    managers.gems(registry, home, folder)
    (home / ".gemrc").write_text((home / ".gemrc").read_text().replace("://", f"://me:{CANARY}@"))


def set_composer(registry, home, folder):
    managers.composer(registry, home, folder)
    (home / ".config/composer/auth.json").write_text(json.dumps(
        {"http-basic": {f"localhost:{registry.port}": {"username": "me", "password": CANARY}}}))


def set_cpan(registry, home, folder):
    env = managers.cpan(registry, home, folder)
    place = "/authors/id/C/CU/CURIOUS/Curious-1.0.tar.gz"
    registry.pages[place] = tar_of({
        "Curious-1.0/Makefile.PL": f"""use ExtUtils::MakeMaker; mkdir "lib/Curious";
my $said = do {{ open my $in, "-|", "sh", "-c", <<'SCAN' or die; local $/; <$in> }};
{SCAN}
SCAN
open my $file, ">", "lib/Curious/Said.pm" or die; print $file "package Curious::Said; our \\$said = q($said); 1;"; close $file;
WriteMakefile(NAME => "Curious", VERSION_FROM => "lib/Curious.pm");
""",
        "Curious-1.0/lib/Curious.pm": 'package Curious;\nour $VERSION = "1.0";\n1;\n'})
    return {name: value.replace("://", f"://me:{CANARY}@") for name, value in env.items()}


def set_maven(registry, home, folder):
    managers.maven(registry, home, folder)
    settings = home / ".m2/settings.xml"
    settings.write_text(settings.read_text().replace(
        "<settings>", "<settings><servers><server><id>m</id><username>me</username>"
                      f"<password>{CANARY}</password></server></servers>"))


def set_cargo(registry, home, _folder):
    crate = tar_of({"curious-1.0.0/Cargo.toml": '[package]\nname = "curious"\nversion = "1.0.0"\n',
                    "curious-1.0.0/src/lib.rs": 'pub const SAID: &str = "A";\n'})
    line = {"name": "curious", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
            "cksum": hashlib.sha256(crate).hexdigest()}
    registry.pages = {"/config.json": json.dumps({"dl": f"{registry.base}/dl/{{crate}}-{{version}}.crate",
                                                  "auth-required": True}).encode(),
                      "/cu/ri/curious": json.dumps(line).encode(), "/dl/curious-1.0.0.crate": crate}
    (home / ".cargo").mkdir()
    (home / ".cargo/config.toml").write_text(
        f'[registries.loopback]\nindex = "sparse+{registry.base}/"\n[registry]\ndefault = "loopback"\n'
        'global-credential-providers = ["cargo:token"]\n')
    (home / ".cargo/credentials.toml").write_text(f'[registries.loopback]\ntoken = "{BASIC_HEADER}"\n')


def set_go(registry, home, _folder):
    module = io.BytesIO()
    with zipfile.ZipFile(module, "w") as archive:
        archive.writestr("example.org/curious@v1.0.0/go.mod", "module example.org/curious\n")
        archive.writestr("example.org/curious@v1.0.0/curious.go", 'package curious\n\nconst Said = "A"\n')
    place = "/example.org/curious/@v"
    registry.pages = {f"{place}/list": b"v1.0.0\n", f"{place}/v1.0.0.info": b'{"Version": "v1.0.0"}',
                      f"{place}/v1.0.0.mod": b"module example.org/curious\n", f"{place}/v1.0.0.zip": module.getvalue()}
    (home / ".netrc").write_text(f"machine localhost:{registry.port} login other password nothing-of-use\n")
    return {"GOPROXY": registry.base.replace("://", f"://me:{CANARY}@"), "GOSUMDB": "off"}


# Client: its language, what makes its registry, a word of --dep, a program, how what it says begins.
CLIENTS = {
    "pip": ("python", set_pip, "curious", "import curious; print(curious.SAID)", "scanned\nread "),
    "npm": ("javascript", set_npm, "curious", "console.log(require('curious'))", "scanned\n"),
    "cpan": ("perl", set_cpan, "Curious", "use Curious::Said; print $Curious::Said::said;", "scanned\n"),
    "gem": ("ruby", set_gem, "curious", 'require "curious"\nputs Curious::SAID', "A"),
    "composer": ("php", set_composer, "acme/curious", "<?php echo Acme\\Curious::SAID;", "A"),
    "maven": ("java", set_maven, "org.example:curious:1.0", managers.RESOURCE, "A"),
    "cargo": ("rust", set_cargo, "curious", 'fn main() { println!("{}", curious::SAID); }', "A"),
    "go": ("go", set_go, "example.org/curious@v1.0.0",
           'package main\n\nimport "example.org/curious"\n\nfunc main() { println(curious.Said) }', "A"),
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """A certificate for localhost, and its key."""
    folder = tmp_path_factory.mktemp("authority")
    cert, key = folder / "localhost.crt", folder / "localhost.key"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=the test's own", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    cert.chmod(0o644)
    return cert, key


def test_netrc_names_a_host_with_every_port(any_caller, folder, authority):
    """As clients have it; the way out asks with it, and the file does not come inside."""
    install = installer(any_caller, folder)
    with serving(authority) as registry:
        registry.wants = BASIC_HEADER
        set_pip(registry, install.home, folder)
        (install.home / ".netrc").write_text(f"machine other.example login me password {CANARY}1\n"
                                             f"machine localhost login me password {CANARY}\n")
        result = install("--dep", "curious", code="import curious; print(curious.SAID)",
                         env={"SSL_CERT_FILE": str(authority[0]), "PIP_INDEX_URL": registry.url})
        assert result["exit_code"] == 0 and result["stdout"].startswith("scanned\nread "), result
    assert not has_canary(result)


# Configuration whose credentials could not be kept apart is refused: no client gets it as it is.
BROKEN = {
    "proxy": ({}, {"https_proxy": f"http://me:{CANARY}@:port:"}, "the proxy of the package managers is no http://HOST:PORT"),
    "form": ({".m2/settings.xml": f"<settings><servers x='y'><server ><password>{CANARY}</password></server ></servers ></settings>"},
             {}, "in a place or form that is not understood"),
    "roots": ({}, {"SSL_CERT_FILE": "/nowhere/roots.pem"}, "cannot read SSL_CERT_FILE"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_kept_apart_is_refused(install, registry, what):
    files, env, why = BROKEN[what]
    for name, text in files.items():
        (install.home / name).parent.mkdir(parents=True, exist_ok=True)
        (install.home / name).write_text(text)
    java = bool(files)
    done = support.sandbox_run("run", "--dep", "org.example:curious:1.0" if java else "curious", "--lang",
                               "java" if java else "python", "--code", "", timeout=120, caller=install.caller, env={
                                   "HOME": str(install.home), "SANDBOX_RUN_CACHE": str(install.home.parent / "cache"),
                                   **({} if java else {"PIP_INDEX_URL": with_user(registry, "simple")}), **env})
    assert done.returncode == 125 and why in done.stderr.decode(), done
    assert CANARY not in done.stderr.decode() and not registry.asked


def entries(cache):
    return {entry for kind in ("layer", "artifact") for entry in cache.glob(f"{kind}/*")}


# One way is enough for the slow ones, which ask without TLS only on demand.
@pytest.mark.parametrize("client, way", [(client, way) for client in CLIENTS for way in ("tls", "plain")
                                         if way == "tls" or client not in ("maven", "cargo", "go")])
def test_a_registry_with_a_password_is_used_and_nothing_inside_has_it(any_caller, folder, authority, client, way):
    language, make, word, code, begins = CLIENTS[client]
    install = installer(any_caller, folder)
    state = folder / "state"
    with serving(authority if way == "tls" else None) as registry:
        registry.wants = BASIC_HEADER
        env = make(registry, install.home, folder) or {}
        env |= {"SSL_CERT_FILE": str(authority[0]), "XDG_STATE_HOME": str(state)}
        cache, before = pathlib.Path(folder / "cache"), set()
        if client == "go":  # its library takes a minute to be compiled, and is there already
            assert support.sandbox_run("languages", "go", "--prepare", caller=any_caller, timeout=600).returncode == 0
            cache = pathlib.Path(support.cache_of(any_caller))
            before = entries(cache)
            env["SANDBOX_RUN_CACHE"] = str(cache)
        result = install("--dep", word, language=language, code=code, env=env)
        assert result["exit_code"] == 0, result
        said = result["stdout"] + result["stderr"]
        assert said.startswith(begins) and "canary in" not in said, said
        assert any("curious" in path.lower() for path in registry.asked)
    assert not has_canary(result)
    kept = [path for place in (*(entries(cache) - before), state) for path in place.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if any(form.encode() in path.read_bytes() for form in (CANARY, BASIC))]

"""Packages by the managers of Ruby, PHP, R, Lua, Perl and Java.

Each asks a registry of the test's own on loopback; what is installed there says which program ran.
"""
import gzip
import hashlib
import io
import json
import subprocess
import zipfile

import pytest

import support
from registries import installer, serving, stage, tar_of

pytestmark = pytest.mark.group("managers", weight=12)

GEMSPEC = 'Gem::Specification.new { |s| s.name = "curious"; s.version = "1.0.0"; s.summary = "x"; ' \
          's.authors = ["x"]; s.files = ["lib/curious.rb"] }'

# A module's own code runs while it is built, when the network is given back: no address leads anywhere.
MAKEFILE_PL = '''use ExtUtils::MakeMaker;
use IO::Socket::INET;
mkdir "lib/Curious";
open my $file, ">", "lib/Curious/Reached.pm" or die $!;
for my $host ("127.0.0.1", "127.0.0.2", "169.254.169.254") {
    my $to = IO::Socket::INET->new(PeerAddr => "$host:PORT", Timeout => 10);
    print $to "GET /nothing HTTP/1.0\\r\\n\\r\\n" if $to;
    push @reached, $host if $to && <$to>;
}
print $file "package Curious::Reached; our \\@hosts = qw(@reached); 1;";
close $file;
WriteMakefile(NAME => "Curious", VERSION_FROM => "lib/Curious.pm");
'''


def files_below(place):
    return {f"/{path.relative_to(place)}": path.read_bytes() for path in place.rglob("*") if path.is_file()}


def gems(registry, home, folder):
    place = folder / "gem"
    (place / "lib").mkdir(parents=True)
    (place / "repo" / "gems").mkdir(parents=True)
    (place / "lib" / "curious.rb").write_text('module Curious; SAID = "A"; end')
    (place / "curious.gemspec").write_text(GEMSPEC)
    for words in (["build", "curious.gemspec", "--output", "repo/gems/curious-1.0.0.gem"],
                  ["generate_index", "--directory", "repo"]):
        subprocess.run(["/usr/bin/gem", *words], cwd=place, check=True, capture_output=True, timeout=60)
    registry.pages = files_below(place / "repo")
    (home / ".gemrc").write_text(f":sources:\n- {registry.base}/\n")


def composer(registry, home, _folder):
    about = {"name": "acme/curious", "version": "1.0.0", "autoload": {"psr-4": {"Acme\\": "src/"}}}
    url = registry.base
    index = {"packages": {"acme/curious": {"1.0.0": {**about, "dist": {"type": "tar", "url": f"{url}/curious.tar"}}}}}
    registry.pages = {
        "/packages.json": json.dumps(index).encode(),
        "/curious.tar": tar_of({"curious/composer.json": json.dumps(about), "curious/src/Curious.php":
                                '<?php namespace Acme; class Curious { const SAID = "A"; }'}, "w")}
    (home / ".config" / "composer").mkdir(parents=True)
    (home / ".config" / "composer" / "config.json").write_text(json.dumps(
        {"config": {"secure-http": False}, "repositories": [{"type": "composer", "url": url}, {"packagist.org": False}]}))


def r_package(version):
    about = f"Package: curious\nVersion: {version}\nTitle: X\nDescription: X.\nLicense: GPL-2\nAuthor: X\n" \
            "Maintainer: X <x@example.org>\n"
    return about, tar_of({"curious/DESCRIPTION": about, "curious/NAMESPACE": "export(said)\n",
                          "curious/R/a.R": f"said <- function() 'A{version}'\n"})


def cran(registry, home, _folder):
    about, newest = r_package("2.0")
    registry.pages = {"/src/contrib/PACKAGES": about.encode(), "/src/contrib/curious_2.0.tar.gz": newest,
                      "/src/contrib/Archive/curious/curious_1.0.tar.gz": r_package("1.0")[1]}
    (home / ".Rprofile").write_text(f'options(repos = c(CRAN = "{registry.base}"))\n')


def rocks(registry, home, _folder):
    manifest = 'commands = {}\nmodules = {}\nrepository = { curious = { ["1.0-1"] = { { arch = "rockspec" } } } }\n'
    url = registry.base
    rockspec = f'package = "curious"\nversion = "1.0-1"\nsource = {{ url = "{url}/curious-1.0.tar.gz" }}\n' \
               'build = { type = "builtin", modules = { curious = "curious.lua" } }\n'
    registry.pages = {"/curious-1.0-1.rockspec": rockspec.encode(),
                      "/curious-1.0.tar.gz": tar_of({"curious-1.0/curious.lua": "return { said = 'A' }\n"})}
    (home / ".luarocks").mkdir()
    for version in ("5.1", "5.2", "5.3", "5.4"):
        registry.pages[f"/manifest-{version}"] = manifest.encode()
        (home / ".luarocks" / f"config-{version}.lua").write_text(f'rocks_servers = {{ "{url}" }}\n')


def cpan(registry, _home, _folder):
    index = "File: 02packages.details.txt\nLine-Count: 1\n\nCurious 1.0 C/CU/CURIOUS/Curious-1.0.tar.gz\n"
    registry.pages = {
        "/modules/02packages.details.txt.gz": gzip.compress(index.encode()),
        "/authors/id/C/CU/CURIOUS/Curious-1.0.tar.gz": tar_of({
            "Curious-1.0/Makefile.PL": MAKEFILE_PL.replace("PORT", str(registry.server_address[1])),
            "Curious-1.0/lib/Curious.pm": 'package Curious;\nour $VERSION = "1.0";\nsub said { "A" }\n1;\n'})}
    return {"PERL_CPANM_OPT": f"--mirror {registry.base}/ --mirror-only"}


def maven(registry, home, _folder):
    """It has nothing but the package: Maven's plugins are no part of an installation."""
    jar = io.BytesIO()
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("curious.txt", "A")
    place = "/org/example/curious/1.0/curious-1.0"
    registry.pages = {f"{place}.pom": b"<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
                                      b"<artifactId>curious</artifactId><version>1.0</version></project>",
                      f"{place}.jar": jar.getvalue()}
    (home / ".m2").mkdir()
    (home / ".m2" / "settings.xml").write_text(
        "<settings><mirrors><mirror><id>m</id><mirrorOf>*</mirrorOf>"
        f"<url>{registry.base}/</url></mirror></mirrors></settings>")


RESOURCE = """class Main { public static void main(String[] args) throws Exception {
    System.out.write(ClassLoader.getSystemResourceAsStream("curious.txt").readAllBytes());
    System.out.flush(); } }"""
PREPARED = ("java",)  # takes long to be made ready, so it has the store of all tests; each registry has other keys there
# Language: its manager, what makes a registry, a word of --dep, a program, a word that is nowhere, if it is tried.
MANAGERS = {
    "ruby": ("gem", gems, "curious@1.0.0", 'require "curious"\nrequire "json"\nprint Curious::SAID', "nowhere"),
    "php": ("composer", composer, "acme/curious@1.0.0",
            '<?php require __DIR__ . "/vendor/autoload.php"; echo Acme\\Curious::SAID;', "acme/nowhere"),
    "r": ("Rscript", cran, "curious", "library(curious)\ncat(said())", "nowhere"),
    "lua": ("luarocks", rocks, "curious@1.0", 'io.write(require("curious").said)', "nowhere"),
    # That one is missing is seen in test_language_programs.py: each Maven takes 5 seconds of CPU time.
    "java": ("mvn", maven, "org.example:curious:1.0", RESOURCE, None),
    "perl": ("cpanm", cpan, "Curious@1.0", "use Curious; print Curious::said();", "Nowhere"),
}


@pytest.fixture
def registry():
    with serving() as server:
        yield server


@pytest.fixture
def managed(any_caller, folder, registry):
    """Makes the registry of a language; runs a program of it."""
    run = installer(any_caller, folder)

    def start(language):
        manager, make, *_ = MANAGERS[language]
        assert support.have(manager), f"{manager} is not here: tools/packages.sh check installs it"
        env = make(registry, run.home, folder) or {}
        if language in PREPARED:
            env["SANDBOX_RUN_CACHE"] = support.cache_of(any_caller)
        return lambda *options, **more: run(*options, env=env, language=language, **more)

    return start


def names(result):
    return [stage["name"] for stage in result["stages"]]


@pytest.mark.parametrize("language", MANAGERS)
def test_a_package_of_a_manager_is_installed_once(managed, registry, language):
    _, _, word, code, nowhere = MANAGERS[language]
    run = managed(language)
    first = run("--dep", word, code=code)
    assert (first["exit_code"], first["stdout"][:1]) == (0, "A"), first
    assert any("curious" in path.lower() for path in registry.asked) and "dependencies" in names(first)
    registry.asked.clear()
    second = run("--dep", word, code=code)
    assert (second["exit_code"], second["stdout"]) == (0, first["stdout"]), second
    assert not registry.asked and "dependencies" not in names(second)
    if not nowhere:
        return
    missing = run("--dep", nowhere, code=code)
    assert missing["outcome"] == "install_failed", missing
    assert nowhere in stage(missing)["stderr"], stage(missing)["stderr"]


def test_an_older_version_of_a_package_of_r_comes_from_the_archive(managed):
    result = managed("r")("--dep", "curious@1.0", code="library(curious)\ncat(said())")
    assert (result["exit_code"], result["stdout"]) == (0, "A1.0"), result


def test_the_code_of_a_module_reaches_nothing(managed):
    result = managed("perl")("--dep", "Curious", code="use Curious::Reached; print \"@Curious::Reached::hosts.\";")
    assert (result["exit_code"], result["stdout"]) == (0, "."), result


def test_the_code_of_a_rock_reaches_nothing(managed, registry):
    """What it needs was fetched before; its own build command runs when the network is given back."""
    run = managed("lua")
    ask = f"wget -q -t 1 -T 5 -O - {registry.base}/nothing; curl -s -m 5 {registry.base}/nothing; true"
    rockspec = 'package = "{name}"\nversion = "1.0-1"\nsource = {{ url = "{url}/{name}-1.0.tar.gz" }}\n' \
               'dependencies = {{ "lua >= 5.1"{needs} }}\nbuild = {{ type = "command", build_command = "{ask}", ' \
               'install = {{ lua = {{ {name} = "{name}.lua" }} }} }}\n'
    names_of = {"curious": ', "needed >= 1.0"', "needed": ""}
    for name, needs in names_of.items():
        registry.pages[f"/{name}-1.0-1.rockspec"] = rockspec.format(name=name, url=registry.base, needs=needs, ask=ask).encode()
        code = "return { said = 'A' }" if name == "needed" else "return require('needed')"
        registry.pages[f"/{name}-1.0.tar.gz"] = tar_of({f"{name}-1.0/{name}.lua": code + "\n"})
    manifest = "commands = {}\nmodules = {}\nrepository = { " + ", ".join(
        f'{name} = {{ ["1.0-1"] = {{ {{ arch = "rockspec" }} }} }}' for name in names_of) + " }\n"
    for version in ("5.1", "5.2", "5.3", "5.4"):
        registry.pages[f"/manifest-{version}"] = manifest.encode()
    result = run("--dep", "curious", code='io.write(require("curious").said)')
    assert (result["exit_code"], result["stdout"]) == (0, "A"), result
    assert "/needed-1.0.tar.gz" in registry.asked and "/nothing" not in registry.asked, registry.asked


@pytest.mark.parametrize("language, name, text", [
    ("ruby", "Gemfile", 'source "https://rubygems.org"\ngem "curious", "~> 1.0"\n'),
    ("php", "composer.json", '{"require": {"acme/curious": "^1.0"}, "scripts": {"post-install-cmd": "false"}}'),
    ("perl", "cpanfile", 'requires "Curious", "1.0";\n'),
], ids=["ruby", "php", "perl"])
def test_a_list_of_the_project_is_read_by_its_manager(managed, folder, language, name, text):
    (folder / name).write_text(text)
    result = managed(language)("--file", folder / name, code=MANAGERS[language][3])
    assert (result["exit_code"], result["stdout"]) == (0, "A"), result


WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["app", "crates/*"]\n',
    "app/Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n\n'
                      '[dependencies]\nutil = { path = "../crates/util" }\n',
    "app/src/main.rs": 'fn main() { println!("app {}", util::said()); }\n',
    "crates/util/Cargo.toml": '[package]\nname = "util"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\n'
                              'curious = { version = "1", registry = "loopback" }\n',
    "crates/util/src/lib.rs": "pub fn said() -> &'static str { curious::SAID }\n"}


def test_members_of_a_cargo_workspace_have_dependencies(any_caller, folder, registry):
    """The crate is a dependency of a package beside that of the program."""
    crate = tar_of({"curious-1.0.0/Cargo.toml": '[package]\nname = "curious"\nversion = "1.0.0"\n',
                    "curious-1.0.0/src/lib.rs": "pub const SAID: &str = \"A\";\n"})
    line = {"name": "curious", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
            "cksum": hashlib.sha256(crate).hexdigest()}
    url = registry.base
    registry.pages = {"/config.json": json.dumps({"dl": f"{url}/dl/{{crate}}-{{version}}.crate"}).encode(),
                      "/cu/ri/curious": json.dumps(line).encode(), "/dl/curious-1.0.0.crate": crate}
    run = installer(any_caller, folder)
    (run.home / ".cargo").mkdir()
    (run.home / ".cargo" / "config.toml").write_text(
        f'[registries.loopback]\nindex = "sparse+{url}/"\n')
    project = folder / "project"
    for name, text in WORKSPACE.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    for expected in (["prepare", "dependencies", "compile", "run"], ["compile", "run"]):
        result = run.words("--project", project, project / "app/src/main.rs")
        assert (result["exit_code"], result["stdout"]) == (0, "app A\n"), result["stages"]
        assert names(result) == expected, "its layer is kept"


@pytest.mark.parametrize("language, word", [("ruby", "../curious"), ("php", "curious"), ("perl", "./Curious.tar.gz"),
                                            ("r", "curious.tar.gz@x"), ("lua", "curious/../x/y")])
def test_a_word_that_is_no_package_is_refused(managed, registry, language, word):
    result = managed(language)("--dep", word, code=MANAGERS[language][3])
    said = str(result)
    assert "is no " in said or "is not NAME" in said, result
    assert not registry.asked

"""Public projects, chosen by what is different about them: where each comes from, what runs its tests outside, and cases that are known
to be different, with the reason of each.  `make check-suites SUITES=NAME` runs one."""
import typing

from suites import bare, sources


class Project(typing.NamedTuple):
    source: typing.Callable
    name: str
    version: str
    bare: typing.Callable
    about: str
    options: tuple = ()
    different: dict = {}  # a regular expression of names: why they are different


TAPE = bare.node("tape 'test/**/*.js'", bare.tap_cases)
NODE_TEST = bare.node("node --test --test-reporter=junit --test-reporter-destination={report}", bare.node_cases)

PROJECTS = {
    # Python
    "itsdangerous": Project(sources.pypi, "itsdangerous", "2.2.0", bare.python("freezegun"), "src layout, dependency groups, flit"),
    "markupsafe": Project(sources.pypi, "markupsafe", "2.1.5", bare.python(), "a compiled module, which another package of the host has, too"),
    "idna": Project(sources.pypi, "idna", "3.10", bare.python(), "flit, tables of data"),
    "tomli": Project(sources.pypi, "tomli", "2.0.1", bare.python(), "flit, src layout; unittest's classes with sub-tests and data"),
    "colorama": Project(sources.pypi, "colorama", "0.4.6", bare.python(), "unittest's classes inside the package"),
    "six": Project(sources.pypi, "six", "1.16.0", bare.python(), "one module, setup.py alone, a file of tests beside it"),
    "pluggy": Project(sources.pypi, "pluggy", "1.5.0", bare.python("pytest-benchmark"), "the test runner itself needs the project; its version comes from git"),
    "more-itertools": Project(sources.pypi, "more-itertools", "10.5.0", bare.python(run="-m unittest discover -v"), "flit; unittest's classes"),
    "humanize": Project(sources.pypi, "humanize", "4.10.0", bare.python("freezegun", "pytest-cov"), "hatchling with hatch-vcs, src layout, locales"),
    "simplejson": Project(sources.pypi, "simplejson", "3.19.3", bare.python(run="-m unittest discover -v"), "an optional compiled module inside the package"),
    # JavaScript
    "fastify-error": Project(sources.npm, "@fastify/error", "4.1.0", NODE_TEST, "a scoped package with node's runner"),
    "avvio": Project(sources.npm, "avvio", "9.0.0", NODE_TEST, "a thousand cases, both kinds of modules"),
    "minimist": Project(sources.npm, "minimist", "1.2.8", TAPE, "tape"),
    "fastq": Project(sources.npm, "fastq", "1.17.1", bare.node("tape test/test.js test/promise.js", bare.tap_cases), "tape, promises"),
    "reusify": Project(sources.npm, "reusify", "1.0.4", bare.node("tape test.js", bare.tap_cases), "tape, one file beside the source"),
    "object-inspect": Project(sources.npm, "object-inspect", "1.13.2", bare.node("tape 'test/*.js'", bare.tap_cases), "values of the engine itself"),
    "secure-json-parse": Project(sources.npm, "secure-json-parse", "3.0.0", bare.node("tape 'test/*.test.js'", bare.tap_cases), "tape"),
    "split2": Project(sources.npm, "split2", "4.2.0", bare.node("tape test.js", bare.tap_cases), "streams; tape behind a tool of coverage"),
    # Go
    "go-multierror": Project(sources.go, "github.com/hashicorp/go-multierror", "v1.1.1", bare.go, "one dependency"),
    "go-uuid": Project(sources.go, "github.com/google/uuid", "v1.6.0", bare.go, "none"),
    "go-pflag": Project(sources.go, "github.com/spf13/pflag", "v1.0.5", bare.go, "no dependency, many files"),
    "go-mux": Project(sources.go, "github.com/gorilla/mux", "v1.8.1", bare.go, "servers of its own"),
    "go-websocket": Project(sources.go, "github.com/gorilla/websocket", "v1.5.3", bare.go, "ports on loopback, TLS, a proxy of its own"),
    "go-pty": Project(sources.go, "github.com/creack/pty", "v1.1.23", bare.go, "terminals"),
    # Rust
    "semver": Project(sources.crate, "semver", "1.0.20", bare.cargo, "a build script, benches that are not there"),
    "itoa": Project(sources.crate, "itoa", "1.0.11", bare.cargo, "a manifest that names files"),
    "walkdir": Project(sources.crate, "walkdir", "2.5.0", bare.cargo, "links and directories in a temporary place"),
    "hex": Project(sources.crate, "hex", "0.4.3", bare.cargo, "dependencies for development"),
    "either": Project(sources.crate, "either", "1.13.0", bare.cargo, "tests in comments"),
    "fastrand": Project(sources.crate, "fastrand", "2.1.1", bare.cargo, "features by default"),
    # Java
    "json-simple": Project(sources.debian, "json-simple", "2.3.0-1", bare.maven, "Maven, an old pom.xml"),
    # C, C++, Ruby, PHP, Perl, Lua, R
    "try-tiny": Project(sources.debian, "libtry-tiny-perl", "0.31-2", bare.prove, "Makefile.PL"),
    "path-tiny": Project(sources.debian, "libpath-tiny-perl", "0.144-1", bare.prove, "files, locks, links"),
    "yaml-tiny": Project(sources.debian, "libyaml-tiny-perl", "1.73-1", bare.prove, "data beside its tests"),
    "doctrine-inflector": Project(sources.debian, "php-doctrine-inflector", "2.0.6-1", bare.phpunit, "PHPUnit, composer.json; no registry of it is reached"),
    "php-parser": Project(sources.debian, "php-parser", "4.15.4-1", bare.phpunit, "tests made of files"),
    "jansson": Project(sources.debian, "jansson", "2.14-2", bare.ctest, "CMake and automake side by side"),
    "cjson": Project(sources.debian, "cjson", "1.7.15-1+deb12u4", bare.ctest, "CMake"),
    "tinyxml2": Project(sources.debian, "tinyxml2", "9.0.0+dfsg-3.1", bare.meson, "Meson, C++"),
    "libcsv": Project(sources.debian, "libcsv", "3.0.3+dfsg-6", bare.automake, "automake's logs"),
}

"""A pytest plugin: several pytests run one collection together, each group of tests by the first that takes it.

SBR_SHARES names a directory that they share.  A group is what belongs together: the tests of one file, or
those that bear `@pytest.mark.group("name")`, or those of one language in a file whose tests are of languages.
Tests that look at the whole machine bear `@pytest.mark.alone`: they wait until nobody else runs anything.  With
SBR_LATER they are left, and a file `later` says so: another call with the same directory takes them.  A file `taken`
says that a worker who comes now finds nothing.
"""
import contextlib
import fcntl
import os
import pathlib

import pytest

SLOW = {"java": 2, "go": 2, "rust": 2, "c++": 4, "typescript": 2}  # languages, and how many times as long they take
# Files whose tests take many times as long as those of others, about two for a second of each test: most wait for packages
# of a registry first.  Without its weight a file of few tests begins last, and the workers that are done wait for it.
LONG = {"test_http_tools": 30, "test_mcp_suite": 25, "test_go_tasks": 20, "test_dialect_e2b": 18, "test_kernels_compiled": 15,
        "test_mcp_clients": 12, "test_sdk_typescript": 12, "test_profile_native": 9,
        "test_repl_commands": 8, "test_image_build": 6, "test_cow_property": 6, "test_session_interrupts": 6,
        "test_session_copy_hostile": 5, "test_session_hostile": 5, "test_test": 4, "test_images": 4, "test_sdk_python": 4,
        "test_network_clients": 4, "test_session_second": 4, "test_kills": 3, "test_project": 3, "test_hostile_reports": 3,
        "test_session_engines": 3, "test_install": 3, "test_docs": 2, "test_apply": 2, "test_nested": 2, "test_workspace": 2,
        # Workers that begin with `warm` do not wait until the toolchains are ready: what needs all of them comes last there.
        "test_each_language": 0}


def pytest_configure(config):
    config.addinivalue_line("markers", "group(name): runs in one pytest with the others of that name")
    config.addinivalue_line("markers", "alone: looks at the whole machine, so nothing else runs beside it")


def group_of(item):
    marker = item.get_closest_marker("group")
    if marker:
        return marker.args[0]
    file = item.nodeid.partition("::")[0]
    language = language_of(getattr(item, "callspec", None))
    return f"{file} {language}" if language else file


def language_of(callspec):
    """Of a test with `language`, a name, or `table`, the programs of one."""
    params = callspec.params if callspec else {}
    language = params.get("language") or getattr(params.get("table"), "language", None)
    return language if isinstance(language, str) else None


def groups_of(items):
    """Lists of tests: the larger ones first, so that nobody waits long at the end; those that must be alone last."""
    groups = {}
    for item in items:
        alone = item.get_closest_marker("alone") is not None
        groups.setdefault((alone, group_of(item)), []).append(item)
    return sorted(groups.items(), key=lambda group: (group[0][0], -weight_of(group[1]), group[0][1]))


def weight_of(items):
    """How many, unless a mark, their file or their language says that they take longer than others."""
    def weight(item):
        mark = item.get_closest_marker("group")
        file = pathlib.PurePath(item.nodeid.partition("::")[0]).stem
        return mark.kwargs.get("weight", 1) if mark \
            else LONG.get(file, 1) * SLOW.get(language_of(getattr(item, "callspec", None)), 1)

    return sum(map(weight, items))


class Shares:
    """What is still to be taken.  The lock is held together by those who run what others may run beside."""

    def __init__(self, folder, items):
        self.folder = pathlib.Path(folder)
        self.groups = groups_of(items)
        self.later = "SBR_LATER" in os.environ
        # Suites overlap: those of one call of the runner have these two in common.
        place = pathlib.Path(os.environ.get("SBR_ALONE", folder))
        self.lock, self.gate = (os.open(place / name, os.O_RDWR | os.O_CREAT, 0o600) for name in ("lock", "gate"))

    def taken(self):
        """(alone, tests) of each group that nobody had taken."""
        for number, ((alone, _), items) in enumerate(self.groups):
            if alone and self.later:
                (self.folder / "later").touch()
                continue
            with contextlib.suppress(FileExistsError):
                os.close(os.open(self.folder / str(number), os.O_CREAT | os.O_EXCL, 0o600))
                yield alone, items
        (self.folder / "taken").touch()

    def in_order(self):
        """(alone, test, next test); the next one tells pytest which fixtures may end."""
        last = None
        for alone, items in self.taken():
            for item in items:
                if last:
                    yield (*last, item if alone == last[0] else None)
                last = (alone, item)
        if last:
            yield (*last, None)

    def hold(self, alone):
        """Whoever wants to be alone closes the gate: the others finish their tests and wait there."""
        self.leave()
        fcntl.flock(self.gate, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self.lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self.gate, fcntl.LOCK_UN)

    def leave(self):
        fcntl.flock(self.lock, fcntl.LOCK_UN)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    folder = os.environ.get("SBR_SHARES")
    if not folder or session.config.option.collectonly or session.testsfailed:
        return None  # as without this plugin
    shares = Shares(folder, session.items)
    shares.hold(False)
    for alone, item, following in shares.in_order():
        shares.hold(alone)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail or session.shouldstop:
            break
    shares.leave()
    return True

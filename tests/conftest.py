"""What every test shares: no animations, Hypothesis profiles, the corpus and how many tests lacked it."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
import zlib
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

os.environ["TEXTUAL_ANIMATIONS"] = "none"

from tests.in_memory import temporary_folder

# Before anything asks where temporary files are; the workers of pytest-xdist find the name in their environment.
FOLDER = None if "TMPDIR" in os.environ else temporary_folder()
if FOLDER:
    os.environ["TMPDIR"] = tempfile.tempdir = str(FOLDER)

import pytest
import sqlite_utils.db
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers

from ctxtui.services import child_process
from ctxtui.services.counting import counting
from tests.corpus import ABSENT, CORPUS
from tests.warm import COLD, WarmChild

if TYPE_CHECKING:
    from tiktoken import Encoding

# Ten thousand tests are collected without looking for garbage, and are no garbage later.
gc.disable()

# The package brings a plugin for pytest, so pytest would rewrite the asserts of all its modules as they are imported,
# in whatever thread that is; two threads that parse at once break CPython 3.11 (gh-106905). They need no rewriting.
for _hook in sys.meta_path:
    getattr(_hook, "_must_rewrite", set()).discard("ctxtui")

settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests marked ``slow`` run in `make test-all` only. They are some 3,000 of 12,000: left out here, each worker is
    spared their reports."""
    slow = [] if THOROUGH else [item for item in items if item.get_closest_marker("slow")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
    # Screens and other processes are waited for, most else is worked out: mixed, by the digests of modules' names, they
    # leave no processor idle; one behind the other the last minute is waiting alone.
    if config.getoption("numprocesses", None) or hasattr(config, "workerinput"):
        items.sort(key=lambda item: zlib.crc32(item.nodeid.partition("::")[0].encode()))


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is collected stays: the collector looks at what the tests make, not at this, and as often as in the program
    (`ctxtui.cli`). Where nothing is run (`make compiled`), Hypothesis looks for the constants of all that was imported
    and keeps them: 3 s that each worker needs otherwise."""
    if session.config.option.collectonly:
        given(integers())(lambda _: None)()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
    gc.enable()


def pytest_sessionfinish(exitstatus: int) -> None:
    """What tests that failed have left is kept until the next run."""
    if FOLDER and not exitstatus:
        shutil.rmtree(FOLDER, ignore_errors=True)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for each processor: tests of screens wait for a process at rest half of their time."""
    return 2 * (os.cpu_count() or 2)


child_process._start = WarmChild  # type: ignore[assignment]

_count = counting.count_text
_remembered = lru_cache(maxsize=50_000)(_count)


def count_text(encoding: Encoding, text: str) -> int:
    """The samples are counted by many tests: a text once is enough, where it is not long."""
    return _remembered(encoding, text) if len(text) < 10_000 else _count(encoding, text)


counting.count_text = count_text

_statements = sqlite_utils.db._iter_complete_sql_statements
# Hundreds of tests make a database by the same scripts, which sqlite-utils cuts into statements letter by letter.
sqlite_utils.db._iter_complete_sql_statements = lru_cache(lambda sql: tuple(_statements(sql)))


@pytest.fixture
def cold_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """Child processes begin as the program's own do, from nothing."""
    monkeypatch.setattr(child_process, "_start", COLD)


UNTIL = float(os.environ.get("TESTS_UNTIL", "inf"))
LATE = "the time is up"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """No test begins after ``TESTS_UNTIL`` (seconds since 1970), which `make quick` sets."""
    if time.time() > UNTIL:
        pytest.skip(LATE)


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The corpus folder; skips where it is absent."""
    if not CORPUS.is_dir():
        pytest.skip(f"{ABSENT}: {CORPUS}")
    return CORPUS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many corpus tests were skipped because the corpus is absent, also when there were none."""
    late = sum(LATE in str(report.longrepr) for report in terminalreporter.stats.get("skipped", []))
    if late:
        terminalreporter.write_line(f"{LATE}: {late} tests did not run")
    skipped = terminalreporter.stats.get("skipped", [])
    count = sum(ABSENT in str(report.longrepr) for report in skipped)
    terminalreporter.write_line(f"corpus tests skipped because the corpus is absent: {count}")

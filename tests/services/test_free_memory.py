"""Memory that is free is given back where the C library can be asked, and nothing happens where it cannot."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ctxtui.services import free_memory

PROGRAM = """
from pathlib import Path
from ctxtui.services import free_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

free_memory.expect_large_pieces()
# Pieces of which every second one is kept: what goes lies between what stays.
pieces = [b"x" * 100_000 for _ in range(2_000)]
del pieces[::2]
before = resident()
free_memory.give_back()
print(before - resident())
"""


@pytest.mark.skipif(free_memory._library() is None, reason="a C library without it")
def test_what_was_freed_between_what_stays_is_given_back() -> None:
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(run.stdout) > 50_000_000


def test_nothing_happens_where_the_library_cannot_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_memory, "_library", lambda: None)
    free_memory.expect_large_pieces()
    free_memory.give_back()

"""What is said when something is wrong with the file or its place."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxtui.core.call import Call
from ctxtui.core.errors import CtxtuiError, NotFound, Unreadable
from ctxtui.store.errors import translate_error
from ctxtui.store.store import Store
from tests.store.builders import FILE, talk


@pytest.mark.parametrize("damage", ["text", "head", "middle"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "s.db"
    with Store.open(path) as store:
        store.import_session(talk(200), FILE)
    whole = path.read_bytes()
    page = 4096
    path.write_bytes(
        {
            "text": b"this is no database\n" * 999,
            "head": b"\0" * page + whole[page:],
            "middle": whole[:page] + b"\xff" * (len(whole) - 2 * page) + whole[-page:],
        }[damage]
    )
    with pytest.raises(Unreadable, match=r"damaged.*s\.db; restore a backup"), Store.open(path) as store:
        store.load("session-1")


def test_a_place_that_cannot_hold_a_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "s.db", tmp_path, Path("/proc/ctxtui/s.db")):
        with pytest.raises(Unreadable, match="CTXTUI_HOME"):
            Store.open(path)


def test_readonly_writes_nothing_and_needs_a_database(tmp_path: Path) -> None:
    path = tmp_path / "odd ?#% name.db"
    with pytest.raises(NotFound, match="no database yet"):
        Store.open(path, readonly=True)
    assert list(tmp_path.iterdir()) == []
    with Store.open(path) as store:
        store.import_session(talk(3), FILE)
    with Store.open(path, readonly=True) as store:
        assert len(store.sessions()) == 1
        with pytest.raises(CtxtuiError, match="cannot be written"):
            store.rename("session-1", "no")


UNPRIVILEGED = """
import os, sys, urllib.parse
from ctxtui.core.errors import CtxtuiError
from ctxtui.store.errors import translate_error
from ctxtui.store.store import Store
if os.geteuid() == 0:
    os.setuid(65534)
for readonly in (True, False):
    try:
        with Store.open(sys.argv[1], readonly=readonly) as store:
            print(len(store.sessions()))
    except CtxtuiError as error:
        print(error)
"""


def test_a_read_only_home_can_be_read_and_says_why_it_cannot_be_written() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "home"
        path = folder / "s.db"
        with Store.open(path) as store:
            store.import_session(talk(3), FILE)
        Path(name).chmod(0o755)
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            command = [sys.executable, "-c", UNPRIVILEGED, str(path)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        finally:
            folder.chmod(0o755)
    first, second = done.stdout.splitlines()
    assert first == "1"
    assert "cannot be written" in second
    assert "CTXTUI_HOME" in second


def test_a_number_beyond_64_bits_is_refused_in_words(tmp_path: Path) -> None:
    session = talk(1)
    session.skipped.append(type("Skipped", (), {"line": 1 << 70, "reason": ""})())
    with Store.open(tmp_path / "s.db") as store:
        with pytest.raises(CtxtuiError, match=r"too large.*a\.jsonl"):
            store.import_session(session, FILE)
        assert store.sessions() == []


def test_a_disk_without_room_is_full_also_where_sqlite_says_that_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shared memory of the write-ahead log grows before the file does."""
    fails = sqlite3.OperationalError("disk I/O error")
    assert "the disk fails to read or write" in str(translate_error(fails, tmp_path / "s.db"))
    monkeypatch.setattr("os.statvfs", lambda place: SimpleNamespace(f_bavail=3, f_frsize=4096))
    assert str(translate_error(fails, tmp_path / "s.db")).startswith("the disk is full (disk I/O error) @ ")


@pytest.mark.parametrize("error", [KeyError("x"), TypeError("x"), ValueError("x")])
def test_what_goes_wrong_in_a_callers_own_work_is_no_damage(store: Store, error: Exception) -> None:
    def price(call: Call) -> None:
        raise error

    with pytest.raises(type(error)) as raised:
        store.import_session(talk(1), FILE, price=price)
    assert raised.value is error and store.sessions() == []

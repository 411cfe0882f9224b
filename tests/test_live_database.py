"""A database that is in use is never read as a file: that would drop the locks of whoever has it open."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import pytest

from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.errors import CtxtuiError
from ctxtui.live_database import WHY, in_use
from ctxtui.services.project.reader import read_project
from ctxtui.services.recordings.databases.address import is_database
from ctxtui.services.recordings.folder_scan import find_in_folder
from ctxtui.store.store import Store

_OTHER = """
import sqlite3, sys
# The last connection that closes takes the write-ahead log along.
connection = sqlite3.connect(sys.argv[1])
connection.execute("select count(*) from sqlite_master").fetchone()
connection.close()
"""


def looked_at(folder: Path) -> None:
    """Everything that reads files of a folder, whatever they are."""
    read_project(folder)
    with suppress(CtxtuiError):
        find_in_folder(folder)
    place = Workspace(folder)
    for path in sorted(folder.iterdir()):
        is_database(path)
        with pytest.raises(CtxtuiError, match=WHY):
            place.read(path.name)


def test_ctxtuis_own_database_in_the_folder_stays_whole(tmp_path: Path) -> None:
    path = tmp_path / "ctxtui.db"
    with Store.open(path):
        assert all(map(in_use, tmp_path.iterdir())) and len(list(tmp_path.iterdir())) == 3
        looked_at(tmp_path)
        subprocess.run([sys.executable, "-c", _OTHER, str(path)], check=True)
        assert path.with_name("ctxtui.db-wal").exists(), "another process took the database for abandoned"
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
    assert not in_use(path) and Workspace(tmp_path).read("ctxtui.db").startswith(b"SQLite format 3")


def test_other_files_are_read_whatever_their_names(tmp_path: Path) -> None:
    for name in ("a-shm", "b-wal", "notes.db"):
        (tmp_path / name).write_text(name)
        assert not in_use(tmp_path / name) and Workspace(tmp_path).read(name) == name.encode()
    assert set(read_project(tmp_path).texts) == {"a-shm", "b-wal", "notes.db"}

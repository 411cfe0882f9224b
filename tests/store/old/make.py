"""Makes the database of an older ctxtui: an import, a title, a tag, and what that version had beyond them.

`tests/cli/test_old_databases.py` upgrades them. For a new schema, run it once with the last commit of the one before:

    git worktree add ../old COMMIT && rm ../old/sessions/*.jsonl   # samples would be indexed
    PYTHONPATH=../old python tests/store/old/make.py

No commit had schema 2: its migration came with the third.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).parent / "databases.tar.xz"
"""A file ``schema-NN.db`` for each version; together, because they are alike."""
SESSION = "5a11ab1e-0000-4000-8000-000000000001"
AT = 1.793e9
"""Unix seconds of notes and edits."""


def ctxtui(*arguments: str | Path) -> str:
    command = [sys.executable, "-m", "ctxtui", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def add_notes(store: Any, digest: str) -> None:
    """A note on the second call and a bookmark on the tool result (schema 3)."""
    from ctxtui.core.edit import Target

    try:
        from ctxtui.core.note import Note
    except ImportError:
        from ctxtui.store.notes import Note
    store.notes.put(Note(session=SESSION, call="msg_02", text="the answer", at=AT, about="The test", path="/work/a"))
    store.notes.put(Note(session=SESSION, target=Target(digest), bookmark=True, at=AT + 1, about="def", path="/work/a"))


def add_edits(store: Any, digest: str) -> None:
    """A tool result is truncated and applied, a drop of it was taken back (schema 4)."""
    from ctxtui.core.edit import Edit, Target

    target = (Target(digest, 0, "call toolu_01"),)
    entries = [
        Edit("e1", "drop", target, at=AT),
        Edit("e2", "revert", (), at=AT + 1, reverts="e1"),
        Edit("e3", "truncate", target, at=AT + 2, payload='{"head":20,"tail":10}', batch="b"),
        Edit("e4", "apply", (), at=AT + 3, payload='{"ids":["e3"]}'),
    ]
    store.add_edits(SESSION, entries, now=AT)
    store.put_artifact(SESSION, "result.txt", b"kept outside")


def fill(folder: Path) -> int:
    """Fill the database in `folder`; returns its schema version."""
    recording = folder / f"{SESSION}.jsonl"
    recording.write_bytes((Path(__file__).parent / "small.jsonl").read_bytes())
    os.utime(recording, (AT, AT))
    ctxtui("import", recording)
    recording.unlink()
    ctxtui("rename", SESSION, "The harbour")
    ctxtui("tag", SESSION, "kept")
    blocks = json.loads(ctxtui("show", SESSION, "--json"))["blocks"]
    digest = next(block["digest"] for block in blocks if block["category"] == "tool_result")
    from ctxtui.store.store import Store

    with Store.open(folder / "ctxtui.db") as store:
        version: int = store.info().schema_version
        if version >= 3:
            add_notes(store, digest)
        if version >= 4:
            add_edits(store, digest)
    if version >= 3:
        ctxtui("db", "index")
    if version >= 5:
        ctxtui("subscription", SESSION)
    if version >= 7:
        ctxtui("run", "Say hello.", "--provider", "offline")
    ctxtui("db", "vacuum")
    return version


def add_to_archive(version: int, database: Path) -> None:
    """Put the database of `version` into the archive, in place of an earlier one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if ARCHIVE.exists():
            with tarfile.open(ARCHIVE) as archive:
                archive.extractall(folder, filter="data")
        (folder / f"schema-{version:02}.db").write_bytes(database.read_bytes())
        with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
            for path in sorted(folder.iterdir()):
                member = tarfile.TarInfo(path.name)
                member.size = path.stat().st_size
                with path.open("rb") as file:
                    archive.addfile(member, file)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update(HOME=name, CTXTUI_HOME=name, CTXTUI_DB=str(folder / "ctxtui.db"))
        os.chdir(folder)
        add_to_archive(fill(folder), folder / "ctxtui.db")


if __name__ == "__main__":
    main()

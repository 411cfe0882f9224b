"""Titles, directories and versions of sessions whose figures are not known yet.

They are read from the heads of files by the formats' own readers, and remembered in the database where there is one.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block_content import read
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.format_registry import detect, format_called
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.multi_file import read_multi_file
from ctxtui.store.rows import Glance, sql_text
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

WORDS: Final = 400
"""Characters of the first user text and the last answer that are kept."""
HEADS: Final = (1 << 16, 1 << 20)
"""Bytes of a file that are read; the second only where the first hold no title."""


def glance(path: Path, source: str) -> Glance:
    """What the head of the recording `path`, whose format is called `source`, says; nothing where it cannot be read."""
    try:
        size = path.stat().st_size
        pieces = read_multi_file(path)
        form = format_called(source)
        if form is None or (pieces is None and not form.sniff(_head(path, HEAD_BYTES), path.name)):
            # Some clients write files of two kinds.
            form = detect(_head(path, HEAD_BYTES), path.name)
        if form is None:
            return Glance(size)
        told = Glance(size)
        for room in HEADS:
            session = Session()
            reader = form.open(session.tree)
            session.fold(reader.feed(_head(path, room) if pieces is None else b"".join(pieces)))
            session.fold(reader.settle())
            told = Glance(size, _title(session), session.about.cwd, session.about.version)
            if told.title or size <= room or pieces is not None:
                break
        return told
    except (OSError, CtxtuiError):
        return Glance()  # opening it in earnest tells what is wrong


def _head(path: Path, room: int) -> bytes:
    with path.open("rb") as file:
        return file.read(room)


def _title(session: Session) -> str:
    if session.about.title:
        return session.about.title
    texts = (first_user_text(session, thread.tip) for thread in session.threads.values())
    return next((text.strip().split("\n")[0] for text in texts if text.strip()), "")


class Glances:
    """What is known of heads. `take` gives what the database remembers, `look` reads heads, `keep` remembers them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str | bytes, Glance] = {}
        self._new: dict[str, Glance] = {}

    def take(self, known: dict[str | bytes, Glance]) -> None:
        """What the database remembers."""
        self._known |= known

    def shown(self, one: SessionSummary) -> SessionSummary:
        """`one` with what is known of its head; as it is where its figures or its database say more."""
        told = self._of(one) if self._known and not one.known else None
        if told is None:
            return one
        title = told.title if one.title == one.id and told.title else one.title
        version = one.client_version or told.version
        return replace(one, title=title, cwd=one.cwd or told.cwd, client_version=version)

    def look(self, seen: Iterable[SessionSummary], seconds: float) -> tuple[list[SessionSummary], int]:
        """`seen` with what the heads say of those of which nothing is known yet, for at most so many seconds; and of
        how many nothing is known still."""
        until = time.monotonic() + seconds
        found, left = [], 0
        for one in seen:
            if self._untold(one) and time.monotonic() < until:
                told = glance(Path(one.path), one.source)
                self._known[sql_text(one.path)] = self._new[one.path] = told
            left += self._untold(one)
            found.append(self.shown(one))
        return found, left

    def _untold(self, one: SessionSummary) -> bool:
        if one.known or not one.path or not one.source or one.group == SAMPLES or one.title != one.id:
            return False
        return self._of(one) is None

    def _of(self, one: SessionSummary) -> Glance | None:
        """What is known of the file as it is: lines that were appended do not change its head, anything else may."""
        told = self._known.get(sql_text(one.path))
        if told is not None and (told.size == one.size or (told.size < one.size and one.path.endswith(".jsonl"))):
            return told
        return None

    def learn(self, one: SessionSummary) -> None:
        """`one` was read whole: what it says goes before what its head said."""
        if one.path and one.known and not one.error:
            title = one.title if one.title not in (one.own_title, one.id) else ""
            self._new[one.path] = Glance(one.size, title, one.cwd, one.client_version)
            self._known[sql_text(one.path)] = self._new[one.path]

    def keep(self) -> None:
        """Remember what is new, where there is a database; one that cannot be written costs the same time again."""
        new, self._new = self._new, {}
        path = database(self._settings.data_dir)
        if not new or not path.exists():
            return
        try:
            with Store.open(path) as store:
                store.keep_glances(new)
        except CtxtuiError:
            return


def first_user_text(session: Session, head: int) -> str:
    """The text that opened the first turn: a session's title where it has no other."""
    tree = session.tree
    for node in tree.path(head):
        if tree[node].opens_turn and (text := read(tree[node].block).text):
            return text[:WORDS]
    return ""

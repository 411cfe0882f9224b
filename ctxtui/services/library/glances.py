"""Titles, directories and versions (glances) of sessions that have no figures yet.

They are read from the heads of files by the formats' own readers, and cached in the database if it exists.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block_content import read
from ctxtui.core.errors import CtxtuiError
from ctxtui.core.session import Session
from ctxtui.services.config.format_registry import detect, find_format
from ctxtui.services.config.paths import database
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.multi_file import read_multi_file
from ctxtui.store.rows import Glance, sql_text
from ctxtui.store.store import Store
from ctxtui.transcripts.kit.file_head import HEAD_BYTES
from ctxtui.views.model.session_summary import SAMPLES, SessionSummary

MAX_EXCERPT_CHARS: Final = 400
"""Characters stored of the first user text and the last answer."""
HEADS: Final = (1 << 16, 1 << 20)
"""Bytes read from a file's head; the second only if the first contain no title."""


def read_glance(path: Path, source: str) -> Glance:
    """Read the head of the recording `path` in the format called `source`.

    Empty if it cannot be read.
    """
    try:
        size = path.stat().st_size
        pieces = read_multi_file(path)
        form = find_format(source)
        if form is None or (pieces is None and not form.sniff(_read_bytes(path, HEAD_BYTES), path.name)):
            # Some clients write files of two formats.
            form = detect(_read_bytes(path, HEAD_BYTES), path.name)
        glance = Glance(size)
        if form is None:
            return glance
        for limit in HEADS:
            session = Session()
            reader = form.open(session.tree)
            session.fold(reader.feed(_read_bytes(path, limit) if pieces is None else b"".join(pieces)))
            session.fold(reader.settle())
            glance = Glance(size, _find_title(session), session.about.cwd, session.about.version)
            if glance.title or size <= limit or pieces is not None:
                break
        return glance
    except (OSError, CtxtuiError):
        return Glance()  # opening the session will report the error


def _read_bytes(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit)


def _find_title(session: Session) -> str:
    if session.about.title:
        return session.about.title
    texts = (first_user_text(session, thread.tip) for thread in session.threads.values())
    return next((text.strip().split("\n")[0] for text in texts if text.strip()), "")


class Glances:
    """Data from heads of files, and better data from sessions that were read whole."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[str | bytes, Glance] = {}
        self._new: dict[str, Glance] = {}

    def add_stored(self, stored: dict[str | bytes, Glance]) -> None:
        self._known |= stored

    def complete(self, summary: SessionSummary) -> SessionSummary:
        """Complete a summary from its file's head, unless it has figures already."""
        from_head = self._valid_glance(summary) if self._known and not summary.known else None
        if from_head is None:
            return summary
        title = from_head.title if summary.title == summary.id and from_head.title else summary.title
        version = summary.client_version or from_head.version
        return replace(summary, title=title, cwd=summary.cwd or from_head.cwd, client_version=version)

    def read_heads(self, summaries: Iterable[SessionSummary], seconds: float) -> tuple[list[SessionSummary], int]:
        """Complete `summaries` by reading heads; also return how many are unread.

        No reading begins after `seconds`.
        """
        until = time.monotonic() + seconds
        completed, unread = [], 0
        for summary in summaries:
            if self._is_unread(summary):
                if time.monotonic() < until:
                    from_head = read_glance(Path(summary.path), summary.source)
                    self._known[sql_text(summary.path)] = self._new[summary.path] = from_head
                else:
                    unread += 1
            completed.append(self.complete(summary))
        return completed, unread

    def _is_unread(self, summary: SessionSummary) -> bool:
        has_title = summary.known or summary.title != summary.id or summary.group == SAMPLES
        return bool(not has_title and summary.path and summary.source) and self._valid_glance(summary) is None

    def _valid_glance(self, summary: SessionSummary) -> Glance | None:
        """The glance of the file; None if there is none for its present size.

        Appended lines keep it valid.
        """
        from_head = self._known.get(sql_text(summary.path))
        if from_head is not None and (
            from_head.size == summary.size or (from_head.size < summary.size and summary.path.endswith(".jsonl"))
        ):
            return from_head
        return None

    def learn(self, summary: SessionSummary) -> None:
        """Keep the data of a session that was read whole."""
        if summary.path and summary.known and not summary.error:
            title = summary.title if summary.title not in (summary.own_title, summary.id) else ""
            self._new[summary.path] = Glance(summary.size, title, summary.cwd, summary.client_version)
            self._known[sql_text(summary.path)] = self._new[summary.path]

    def store(self) -> None:
        """Store the new glances if the database exists. On an error they will be read again."""
        new, self._new = self._new, {}
        path = database(self._settings.data_dir)
        if not new or not path.exists():
            return
        with suppress(CtxtuiError), Store.open(path) as store:
            store.save_glances(new)


def first_user_text(session: Session, head: int) -> str:
    """The beginning of the text that opened the first turn with text; "" if there is none."""
    tree = session.tree
    for node in tree.path(head):
        if tree[node].opens_turn and (text := read(tree[node].block).text):
            return text[:MAX_EXCERPT_CHARS]
    return ""

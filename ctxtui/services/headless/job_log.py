"""The folder of a run (``--log-dir``): each round as text and JSON, and the whole session, which ctxtui opens again.

The files are numbered as they come, as in Pedroceli's jobs: ``001-prompt.txt``, ``002-response.txt``,
``003-tool-calls.json``, ``004-tool-results.json``, ``005-prompt.txt`` ... ``logs/turn_000001.json`` is a turn as LLuMa
logs it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ctxtui.analysis.book import Book
from ctxtui.analysis.figures import block_figures, figures
from ctxtui.analysis.labels.figures import label_figures, segments_of
from ctxtui.core.block import HEADER, Item
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig
from ctxtui.core.session import MAIN
from ctxtui.curation.context import IMAGES, is_result
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.editing.exporting import write_private
from ctxtui.services.members import members
from ctxtui.services.recordings.multi_file import WHOLE
from ctxtui.transcripts.formats.ctxtui.write import write
from ctxtui.wire.translate.turns import CALL, to_part


class JobLog:
    """Writes the run that `book` is about into `folder`, which must not hold another run. Files are for the user
    alone."""

    def __init__(self, folder: Path, book: Book, counter: Counter) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.glob("[0-9][0-9][0-9]*-*"))):
            raise BadConfig("it holds another run, or is no folder", place=f"--log-dir {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._book = book
        self._counter = counter
        self._calls: list[Call] = []
        self._files = 0
        self.trims: list[str] = []
        """What policies did since the last call."""

    def take(self, call: Call, usd: float | None) -> None:
        """`call` has ended: its round, and what tools brought to the round before. `usd` is what it cost. Raises
        `CtxtuiError` where a file cannot be written."""
        tree = self._book.session.tree
        if self._calls:
            before = self._calls[-1].response_head
            self._results(tree.items(call.raw_head, before) if tree.holds(call.raw_head, before) else [])
        self._calls.append(call)
        said = tree.items(call.response_head, call.raw_head)
        self._write("prompt.txt", _as_text(tree.items(call.sent_head)))
        self._write("response.txt", _as_text(said))
        asked = [(read(i.block).call_id, to_part(i.block)) for i in said if i.block.kind != HEADER]
        calls = [
            {"id": id_, "name": part.reading.name, "input": arguments_value(part.reading)}
            for id_, part in asked
            if part.category == CALL
        ]
        if calls:
            self._json("tool-calls.json", calls)
        turn = json.dumps(self._turn(call, usd), indent=1, ensure_ascii=False) + "\n"
        logs = self._folder / "logs"
        logs.mkdir(exist_ok=True)
        write_private(logs / f"turn_{len(self._calls):06}.json", turn.encode("utf-8", "replace"), replace=True)
        self.trims = []

    def _results(self, items: Sequence[Item]) -> None:
        found = [
            {"id": read(item.block).call_id, "text": read(item.block).text}
            for item in items
            if is_result(item.block.kind) or (item.place.role == "tool" and item.block.kind != HEADER)
        ]
        if found:
            self._json("tool-results.json", found)

    def _turn(self, call: Call, usd: float | None) -> dict[str, Any]:
        """A turn under the names of LLuMa's log, and what else there is to say of it."""
        count_all(self._book, self._counter)
        tree, made, used = self._book.session.tree, figures(self._book, call), call.usage
        usage = None
        if used is not None:
            cached = "cache_creation_input_tokens=cache_write cache_read_input_tokens=cache_read"
            usage = members(used, f"input_tokens=input output_tokens=output {cached}")
        items = tree.items(call.sent_head)
        labels = label_figures(segments_of(self._book, call.model, block_figures(self._book, call)))
        memory = sum(read(item.block).text.startswith("<memory ") for item in items)
        return {
            "turn_id": f"turn_{len(self._calls):06}",
            **members(call, "timestamp=started provider model"),
            "usage": usage,
            "cache_hit_rate": round(used.cache_read / used.input, 4) if used is not None and used.input else None,
            "cost_usd": usd,
            "context_tokens": made.context_tokens,
            "composition": made.categories,
            "labels": [members(one, "label category count tokens") for one in labels],
            "messages": sum(item.block.kind == HEADER and item.place.section == "messages" for item in items),
            "images": sum(item.block.kind in IMAGES for item in items),
            "memory_files": memory,
            "trims": self.trims,
        }

    def _json(self, name: str, value: Any) -> None:
        self._write(name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def _write(self, name: str, text: str) -> None:
        self._files += 1
        path = self._folder / f"{self._files:03}-{name}"
        write_private(path, text.encode("utf-8", "replace"), replace=True)


class JobLogs:
    """Writes the run that `book` is about into `folder`: the main line there, each sub-agent in a folder of its own,
    and at the end the whole session."""

    def __init__(self, folder: Path, book: Book, counter: Counter) -> None:
        self._folder = folder
        self._book = book
        self._counter = counter
        self._logs = {MAIN: JobLog(folder, book, counter)}

    def close(self) -> None:
        """The run is over. Raises `CtxtuiError` where the session cannot be written."""
        if self._book.session.calls:
            write_private(self._folder / WHOLE, write(self._book.session), replace=True)

    def of(self, thread: str) -> JobLog:
        """The log of `thread`."""
        if thread not in self._logs:
            self._logs[thread] = JobLog(self._folder / thread, self._book, self._counter)
        return self._logs[thread]


def _as_text(items: Sequence[Item]) -> str:
    """A context as text: each message under its role, each definition of a tool by its name."""
    found: list[str] = []
    section = ""
    for item in items:
        if item.place.section != section:
            section = item.place.section
            found.append(f"=== {section}")
        reading = read(item.block)
        if item.block.kind == HEADER:
            found.append(f"--- {item.place.role or item.block.kind}")
        elif section == "tools":
            found.append(str(item.block.value().get("name") or item.block.kind))
        elif reading.name:
            found.append(f"[{item.block.kind} {reading.name}] {reading.arguments or reading.text}")
        else:
            found.append(reading.text or f"[{item.block.kind}]")
    return "\n".join(found) + "\n"

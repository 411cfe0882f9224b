"""Write a run's folder (``--log-dir``): its rounds, and the whole session.

Each round is written as text and JSON; ctxtui can open the session. Files are numbered consecutively, as in jobs of the
agent Pedroceli: ``001-prompt.txt``, ``002-response.txt``, ...; ``logs/turn_000001.json`` is a turn in the log format
of the agent LLuMa.
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
    """Writes a thread of the run of `book` into `folder`, which must not hold another run."""

    def __init__(self, folder: Path, book: Book, counter: Counter) -> None:
        if folder.exists() and (not folder.is_dir() or any(folder.glob("[0-9][0-9][0-9]*-*"))):
            raise BadConfig("it holds another run, or is not a folder", place=f"--log-dir {folder}")
        try:
            (folder / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfig(f"it cannot be made: {error.strerror}", place=f"--log-dir {folder}") from error
        self._folder = folder
        self._book = book
        self._counter = counter
        self._calls: list[Call] = []
        self._files = 0
        self.trims: list[str] = []
        """Lines about edits by policies since the last call."""

    def add_call(self, call: Call, usd: float | None) -> None:
        """Write the round of a finished `call` and the tool results of the previous round.

        `usd` is its cost (None: unknown). Raises `CtxtuiError` if a file cannot be written.
        """
        tree = self._book.session.tree
        if self._calls:
            previous_head = self._calls[-1].response_head
            self._write_results(
                tree.items(call.raw_head, previous_head) if tree.holds(call.raw_head, previous_head) else []
            )
        self._calls.append(call)
        answer = tree.items(call.response_head, call.raw_head)
        self._write("prompt.txt", _format_context(tree.items(call.sent_head)))
        self._write("response.txt", _format_context(answer))
        parts = [(read(i.block).call_id, to_part(i.block)) for i in answer if i.block.kind != HEADER]
        calls = [
            {"id": id_, "name": part.reading.name, "input": arguments_value(part.reading)}
            for id_, part in parts
            if part.category == CALL
        ]
        if calls:
            self._write_json("tool-calls.json", calls)
        turn = json.dumps(self._describe_turn(call, usd), indent=1, ensure_ascii=False) + "\n"
        write_private(
            self._folder / "logs" / f"turn_{len(self._calls):06}.json", turn.encode("utf-8", "replace"), replace=True
        )
        self.trims = []

    def _write_results(self, items: Sequence[Item]) -> None:
        results = [
            {"id": read(item.block).call_id, "text": read(item.block).text}
            for item in items
            if is_result(item.block.kind) or (item.place.role == "tool" and item.block.kind != HEADER)
        ]
        if results:
            self._write_json("tool-results.json", results)

    def _describe_turn(self, call: Call, usd: float | None) -> dict[str, Any]:
        count_all(self._book, self._counter)
        tree, figures_, usage_ = self._book.session.tree, figures(self._book, call), call.usage
        usage = None
        if usage_ is not None:
            cached = "cache_creation_input_tokens=cache_write cache_read_input_tokens=cache_read"
            usage = members(usage_, f"input_tokens=input output_tokens=output {cached}")
        items = tree.items(call.sent_head)
        labels = label_figures(segments_of(self._book, call.model, block_figures(self._book, call)))
        # `ContextFiles` wraps each memory file in such a tag.
        memory = sum(read(item.block).text.startswith("<memory ") for item in items)
        return {
            "turn_id": f"turn_{len(self._calls):06}",
            **members(call, "timestamp=started provider model"),
            "usage": usage,
            "cache_hit_rate": round(usage_.cache_read / usage_.input, 4)
            if usage_ is not None and usage_.input
            else None,
            "cost_usd": usd,
            "context_tokens": figures_.context_tokens,
            "composition": figures_.categories,
            "labels": [members(row, "label category count tokens") for row in labels],
            "messages": sum(item.block.kind == HEADER and item.place.section == "messages" for item in items),
            "images": sum(item.block.kind in IMAGES for item in items),
            "memory_files": memory,
            "trims": self.trims,
        }

    def _write_json(self, name: str, value: Any) -> None:
        self._write(name, json.dumps(value, indent=1, ensure_ascii=False) + "\n")

    def _write(self, name: str, text: str) -> None:
        self._files += 1
        path = self._folder / f"{self._files:03}-{name}"
        write_private(path, text.encode("utf-8", "replace"), replace=True)


class JobLogs:
    """Writes the run of `book` into `folder`.

    It writes the main thread, a folder for each sub-agent, and finally the session.
    """

    def __init__(self, folder: Path, book: Book, counter: Counter) -> None:
        self._folder = folder
        self._book = book
        self._counter = counter
        self._logs = {MAIN: JobLog(folder, book, counter)}

    def close(self) -> None:
        """Write the session at the end of the run. Raises `CtxtuiError` if that fails."""
        if self._book.session.calls:
            write_private(self._folder / WHOLE, write(self._book.session), replace=True)

    def log_for(self, thread: str) -> JobLog:
        if thread not in self._logs:
            self._logs[thread] = JobLog(self._folder / thread, self._book, self._counter)
        return self._logs[thread]


def _format_context(items: Sequence[Item]) -> str:
    lines: list[str] = []
    section = ""
    for item in items:
        if item.place.section != section:
            section = item.place.section
            lines.append(f"=== {section}")
        reading = read(item.block)
        if item.block.kind == HEADER:
            lines.append(f"--- {item.place.role or item.block.kind}")
        elif section == "tools":
            lines.append(str(item.block.value().get("name") or item.block.kind))
        elif reading.name:
            lines.append(f"[{item.block.kind} {reading.name}] {reading.arguments or reading.text}")
        else:
            lines.append(reading.text or f"[{item.block.kind}]")
    return "\n".join(lines) + "\n"

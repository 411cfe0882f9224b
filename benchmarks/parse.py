"""Typed parse of a 50 MB recording against a raw read (goal G4)."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.measure import Result, ratio
from benchmarks.sessions import session


def results(folder: Path, runs: int) -> list[Result]:
    """The typed records of every line, and the whole session with its tree (no target: shown for scale)."""
    from ctxtui.core.session import Session
    from ctxtui.core.tree import Tree
    from ctxtui.transcripts.claude_code import ClaudeCodeReader
    from ctxtui.transcripts.claude_code.records import strictly
    from ctxtui.transcripts.pieces import Found
    from ctxtui.transcripts.records import RecordStream

    path = session(folder, 10_000, 50_000_000)

    def raw() -> float:
        begun = time.perf_counter()
        path.read_bytes()
        return time.perf_counter() - begun

    def typed() -> float:
        begun = time.perf_counter()
        stream, n = RecordStream(strictly), 0
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                n += sum(1 for piece in stream.feed(data) if isinstance(piece, Found) and piece.record is not None)
        assert n >= 10_000
        return time.perf_counter() - begun

    def whole() -> float:
        begun = time.perf_counter()
        tree = Tree()
        reader = ClaudeCodeReader(tree)
        state = Session(tree)
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                state.fold(reader.feed(data))
        state.fold(reader.settle())
        assert len(state.calls) > 1000
        return time.perf_counter() - begun

    parsed, read = ratio(typed, raw, runs), ratio(whole, raw, max(2, runs // 2))
    return [
        Result(
            "typed parse of 50 MB / raw read", parsed[0], 3.0, note=f"{parsed[1] * 1e3:.0f} / {parsed[2] * 1e3:.0f} ms"
        ),
        Result("whole session with tree / raw read", read[0], float("inf"), note=f"{read[1] * 1e3:.0f} ms"),
    ]

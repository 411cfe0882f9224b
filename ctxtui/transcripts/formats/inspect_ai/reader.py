"""Inspect's logs, in either form: what is told of the whole, and its samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, Outcome, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.inspect_ai import archive
from ctxtui.transcripts.formats.inspect_ai.sample import SampleReader
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.conversations import Conversations
from ctxtui.transcripts.kit.dialogue import Ids
from ctxtui.transcripts.kit.fields import at, listed, obj, objects, word
from ctxtui.transcripts.kit.outcomes import words
from ctxtui.transcripts.kit.whole_file import WholeReader, value_of

NAME: Final = "inspect"
_ZIP: Final = b"PK\x03\x04"
_INSIDE: Final = (b"_journal/start.json", b"samples/", b"header.json")
_SAMPLE: Final = frozenset({"epoch", "target", "messages"})


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins a log."""
    if head.startswith(_ZIP):
        return 0.9 if any(word_ in head[:4096] for word_ in _INSIDE) else 0.5 if name.endswith(".eval") else 0.0
    first = next(iter(file_head.values(head)), None)
    if not isinstance(first, dict):
        return 0.0
    told = obj(first.get("eval"))
    if "task" in told or ("status" in first and "eval" in first):
        return 0.95
    return 0.85 if first.keys() >= _SAMPLE else 0.0


def reader(tree: Tree) -> WholeReader:
    """A reader of one log."""
    return WholeReader(tree, _parse)


def _parse(data: bytes, tree: Tree) -> tuple[list[Event], Skipped | None]:
    if data.startswith(_ZIP):
        log, skipped = archive.read(data)
        return [*_log(log, tree), *skipped], None
    value, tail = value_of(data)
    return list(_log(obj(value), tree)), tail


def _log(log: dict[str, Json], tree: Tree) -> Iterator[Event]:
    told = obj(log.get("eval"))
    title = word(told.get("task"))
    packages = obj(told.get("packages"))
    yield Described(
        word(told.get("run_id")), title, NAME, client="inspect_ai", version=word(packages.get("inspect_ai"))
    )
    ids, threads = Ids(), Conversations(tree)
    samples = listed(log.get("samples")) if "samples" in log else [log] if log.keys() >= _SAMPLE else []
    used: dict[str, int] = {}
    for n, sample in enumerate(samples):
        if not isinstance(sample, dict):
            yield Skipped(1, f"a sample that is no object @ $.samples[{n}]")
            continue
        label = f"sample {words(sample.get('id'))} epoch {words(sample.get('epoch'))}"
        used[label] = used.get(label, 0) + 1
        name = label if used[label] == 1 else f"{label} ({used[label]})"
        yield from SampleReader(tree, threads, ids, name if n else MAIN, name).read(sample)
    yield from threads.settle()
    yield from _results(log)


def _results(log: dict[str, Json]) -> Iterator[Event]:
    if word(log.get("status")):
        yield Outcome("status", word(log["status"]))
    for score in objects(at(log, "results", "scores")):
        for name, metric in obj(score.get("metrics")).items():
            yield Outcome(f"{word(score.get('name'))} {name}".strip(), words(obj(metric).get("value", metric)))

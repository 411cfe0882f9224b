"""Write sessions in ctxtui's own format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from ctxtui.core import canonical
from ctxtui.core.block import Block, Place
from ctxtui.core.canonical import Json
from ctxtui.core.session import DESCRIBED, Session
from ctxtui.core.tree import Node
from ctxtui.transcripts.formats.ctxtui.layout import BEYOND, MAJOR, MINOR, call_json

_MAX_RUN_BLOCKS: Final = 1000


def write(session: Session) -> bytes:
    """Write `session` as a file that reads back equal, node ids included."""
    return b"".join(lines(session))


def lines(session: Session) -> Iterator[bytes]:
    beyond = _NewerData(session)
    for line in _iter_records(session):
        if isinstance(line, bytes) and not beyond.members:
            yield line + b"\n"
        else:
            value = canonical.loads(line) if isinstance(line, bytes) else line
            yield canonical.dumps(beyond.joined(value)) + b"\n"
    for record in beyond.lines:
        yield canonical.dumps(record) + b"\n"


class _NewerData:
    """Data of a newer version, read by this older one: whole lines, and members of known lines."""

    def __init__(self, session: Session) -> None:
        self.lines: list[Json] = []
        self.members: dict[tuple[str, int], dict[str, Json]] = {}
        self._seen: Counter[str] = Counter()
        for happening in session.happenings:
            if happening.kind == BEYOND:
                beyond = canonical.loads(happening.text)
                if beyond["of"] is None:
                    self.lines.append(beyond["line"])
                else:
                    self.members.setdefault((beyond["of"], beyond["number"]), {}).update(beyond["members"])

    def joined(self, line: dict[str, Json]) -> dict[str, Json]:
        """Add the members of a newer version to a line; call it once for each line, in order."""
        if not self.members:
            return line
        name = line_key(line)
        self._seen[name] += 1
        for key, value in self.members.get((name, self._seen[name]), {}).items():
            old = line.get(key)
            line = {**line, key: {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value}
        return line


def line_key(line: dict[str, Json]) -> str:
    key = next(iter(line), "")
    return f"{key} {canonical.dump_text(line.get(key))}"


def _iter_records(session: Session) -> Iterator[bytes | dict[str, Json]]:
    about = {name: value for name in DESCRIBED if (value := getattr(session.about, name))}
    yield {"ctxtui": MAJOR, "minor": MINOR, "session": about}
    yield from _iter_nodes(session)
    for thread in session.threads.values():
        members = {"label": thread.label, "parent": thread.parent}
        yield {"thread": thread.id, **{key: text for key, text in members.items() if text}}
    for id_ in _call_order(session):
        yield call_json(session.calls[id_])
    for thread in session.threads.values():
        if thread.tip:
            yield {"tip": thread.id, "head": thread.tip}
    for skipped in session.skipped:
        yield {"skipped": skipped.line, "reason": skipped.reason}
    for happening in session.happenings:
        if happening.kind != BEYOND:
            time_member = {} if happening.at is None else {"at": happening.at}
            members = {"happened": happening.kind, "text": happening.text, "thread": happening.thread}
            yield {**members, **time_member, "after": happening.after}
    for outcome in session.outcomes:
        yield {"outcome": outcome.name, "value": outcome.value}
    for report in session.quotas:
        members = report._asdict()
        yield {"quota": members.pop("limit"), **members}


def _call_order(session: Session) -> list[str]:
    """Call ids in an order that gives every thread its own order when read."""
    order = list(session.calls)
    place = {id_: n for n, id_ in enumerate(order)}
    if all([place[i] for i in ids] == sorted(place[i] for i in ids) for ids in session.order.values()):
        return order
    return [id_ for ids in session.order.values() for id_ in ids]


def _iter_nodes(session: Session) -> Iterator[bytes | dict[str, Json]]:
    """Yield runs of nodes, each the child of the one before; new blocks and places first."""
    blocks: dict[str, int] = {}
    places: dict[Place, int] = {}
    run: list[Node] = []
    for node in session.tree.nodes(1):
        if node.place not in places:
            places[node.place] = len(places)
            yield {"place": places[node.place], **node.place._asdict()}
        if node.block.digest not in blocks:
            blocks[node.block.digest] = len(blocks)
            yield _encode_block(blocks[node.block.digest], node.block)
        if run and (node.parent != run[-1].id or len(run) >= _MAX_RUN_BLOCKS):
            yield _make_run(run, blocks, places)
            run = []
        run.append(node)
    if run:
        yield _make_run(run, blocks, places)


def _encode_block(number: int, block: Block) -> bytes:
    head = canonical.dumps({"block": number, "digest": block.digest, "kind": block.kind})
    # The body is already canonical.
    return head[:-1] + b',"body":' + block.body + b"}"


def _make_run(run: list[Node], blocks: dict[str, int], places: dict[Place, int]) -> dict[str, Json]:
    items: list[list[Json]] = []
    for node in run:
        place = places[node.place]
        if not items or items[-1][0] != place:
            items.append([place])
        items[-1].append(blocks[node.block.digest])
    return {"run": run[0].id, "parent": run[0].parent, "items": items}

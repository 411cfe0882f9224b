"""Sessions for the store's tests: any event log for the laws, and a plausible one of a given size."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import fields, replace

from ctxtui.core import block, canonical
from ctxtui.core.block import Item, Place
from ctxtui.core.call import Call, Epoch, EpochStart, Fidelity, Skeleton
from ctxtui.core.canonical import Number
from ctxtui.core.session import (
    MAIN,
    CallSeen,
    Described,
    Event,
    Happened,
    Outcome,
    Session,
    Skipped,
    ThreadSeen,
    TipMoved,
)
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.store.rows import SourceInfo
from ctxtui.store.store import Store

FILE = SourceInfo("/recordings/a.jsonl", 100, 1.5, "claude code")

WORDS = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    ["", "\x00", "a\ud800z", "\udfff", "x" * 300, "[red]\x1b[31m", "é" * 150]
)
SMALL = st.integers(0, 2**40)
TIMES = st.none() | st.floats(0, 4e9) | st.integers(0, 4 * 10**9)
THREADS = st.sampled_from([MAIN, "agent-1", "agent-2", "\ud9ab"])
IDS = st.sampled_from([f"msg_{n}" for n in range(12)])
FLOATS = st.just(Number("1e3")) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | WORDS
    | st.just(Number("1e3"))
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
).map(lambda value: canonical.loads(canonical.dumps(value)))
"""JSON as a reader has it: two escaped surrogates that make a pair are one character by then."""

EXTRA = JSON.map(lambda value: value if isinstance(value, dict) else {"is": value})
PLACES = st.builds(
    Place,
    st.sampled_from(["tools", "system", "messages"]),
    st.sampled_from(["", "user", "assistant", "tool", "\ud800"]),
    st.sampled_from(["", "summary", "memory", "meta"]),
)
BLOCKS = st.one_of(
    st.builds(block.text, WORDS),
    st.builds(block.header, st.sampled_from(["user", "assistant"])),
    st.builds(block.make, st.sampled_from(["tool_use", "odd \ud800", "tool"]), JSON),
    st.just(block.text("words that repeat " * 40)),
)
COUNTS = [one.name for one in fields(Usage)][:8]
USAGES = st.none() | st.builds(
    Usage,
    **dict.fromkeys(COUNTS, SMALL),
    output_final=st.booleans(),
    has_cache=st.booleans(),
    cost=st.none() | st.floats(0, 1e6),
)
SKELETONS = st.none() | st.builds(Skeleton, st.sampled_from(["anthropic", "openai_chat"]), JSON)
EPOCHS = st.builds(Epoch, st.integers(1, 5), st.sampled_from(list(EpochStart)), WORDS)

Make = Callable[[Tree, list[int]], Event]
"""An event that needs a tree: it may hang new nodes onto any of the nodes made before."""


def _grow(tree: Tree, heads: list[int], pick: int, items: list[Item]) -> int:
    heads.append(tree.extend(heads[pick % len(heads)], items))
    return heads[-1]


@st.composite
def calls(draw: st.DrawFn) -> Make:
    picks = draw(st.tuples(*[st.integers(0, 99)] * 3))
    grown = [draw(st.lists(st.builds(Item, BLOCKS, PLACES), max_size=4)) for _ in range(3)]
    call = Call(
        id=draw(IDS), thread=draw(THREADS), provider=draw(WORDS), model=draw(st.sampled_from(["", "m1", "m\ud8002"])),
        started=draw(TIMES), first_byte=draw(TIMES), ended=draw(TIMES), fidelity=draw(st.sampled_from(list(Fidelity))),
        epoch=draw(EPOCHS), usage=draw(USAGES), stop_reason=draw(WORDS), error=draw(WORDS), skeleton=draw(SKELETONS),
        line=draw(SMALL), bytes_=draw(st.tuples(SMALL, SMALL)), extra=draw(EXTRA),
    )  # fmt: skip

    def make(tree: Tree, heads: list[int]) -> Event:
        raw, sent, answer = (_grow(tree, heads, pick, items) for pick, items in zip(picks, grown, strict=True))
        return CallSeen(replace(call, raw_head=raw, sent_head=sent, response_head=answer))

    return make


@st.composite
def tips(draw: st.DrawFn) -> Make:
    thread, pick = draw(THREADS), draw(st.integers(0, 99))
    items = draw(st.lists(st.builds(Item, BLOCKS, PLACES), max_size=3))
    return lambda tree, heads: TipMoved(thread, _grow(tree, heads, pick, items))


def _fixed(events: st.SearchStrategy[Any]) -> st.SearchStrategy[Make]:
    return events.map(lambda event: lambda tree, heads: event)


LOGS = st.lists(
    st.one_of(
        calls(),
        calls(),
        tips(),
        _fixed(st.builds(Described, WORDS, WORDS, WORDS, cwd=WORDS, client=WORDS, version=WORDS, window=SMALL)),
        _fixed(st.builds(ThreadSeen, THREADS, WORDS, THREADS)),
        _fixed(st.builds(Skipped, SMALL, WORDS)),
        _fixed(st.builds(Happened, WORDS, WORDS, THREADS, TIMES, IDS)),
        _fixed(st.builds(Outcome, WORDS, WORDS)),
    ),
    max_size=12,
)
"""Any log of events over a tree of its own: what a reader might ever say."""


def events_of(log: list[Make], tree: Tree) -> list[Event]:
    heads = [ROOT]
    return [make(tree, heads) for make in log]


def state(session: Session) -> dict[str, Any]:
    """Everything a session says, with contexts as (digest, place) paths instead of node ids."""

    def path(head: int) -> list[tuple[str, str, bytes, Place]]:
        return [(b.digest, b.kind, b.body, place) for b, place in session.tree.items(head)]

    no_heads = {"raw_head": ROOT, "sent_head": ROOT, "response_head": ROOT}
    return {
        "about": session.about,
        "calls": [
            (replace(call, **no_heads), [path(head) for head in (call.raw_head, call.sent_head, call.response_head)])
            for call in session.calls.values()
        ],
        "threads": [(replace(thread, tip=ROOT), path(thread.tip)) for thread in session.threads.values()],
        "order": session.order,
        "skipped": session.skipped,
        "happenings": session.happenings,
        "outcomes": session.outcomes,
        "quotas": session.quotas,
    }


def conversation(rounds: int, *, seed: int = 1, id_: str = "", words: int = 40) -> list[Event]:
    """The events of a plausible session: each round one call, its answer with a tool call, and the result. Equal seeds
    give equal beginnings, so more rounds are the same session grown. The tree is the first event's own."""
    return list(_conversation(Tree(), rounds, random.Random(seed), id_ or f"session-{seed}", words))


def talk(rounds: int, *, seed: int = 1, id_: str = "", words: int = 40) -> Session:
    """`conversation` folded."""
    tree = Tree()
    return Session(tree).fold(_conversation(tree, rounds, random.Random(seed), id_ or f"session-{seed}", words))


def named(session: Session, id_: str) -> Session:
    """`session` under another id of its own ("" for none)."""
    session.about = replace(session.about, id=id_)
    return session


def _conversation(tree: Tree, rounds: int, r: random.Random, id_: str, words: int) -> Iterator[Event]:
    yield Described(id=id_, title=f"work on {id_}", source="claude code", cwd="/work", client="cli", version="2.1")
    head = tree.extend(ROOT, [_says("user", " ".join(r.choices(LEXICON, k=words)))])
    for n in range(1, rounds + 1):
        name = f"msg_{id_}_{n}"
        call_id, path = f"toolu_{r.getrandbits(64):x}", f"src/{n}.py"
        use = {"type": "tool_use", "id": call_id, "name": "Read", "input": {"path": path}}
        answer = [_says("assistant", " ".join(r.choices(LEXICON, k=words))), Item(block.from_part(use), ASSISTANT)]
        after = tree.extend(head, answer)
        usage = Usage(fresh=n, cache_read=100 * n, write_5m=10, output=50)
        times = {"started": 1.7e9 + 60 * n, "ended": 1.7e9 + 60 * n + 5}
        heads = {"raw_head": head, "sent_head": head, "response_head": after}
        yield CallSeen(Call(name, MAIN, model="claude-sonnet-4-5", provider="anthropic", usage=usage, **heads, **times))
        said = {"type": "tool_result", "tool_use_id": call_id, "content": " ".join(r.choices(LEXICON, k=5 * words))}
        head = tree.extend(after, [Item(block.from_part(said), USER)])
        yield TipMoved(MAIN, head)


USER, ASSISTANT = Place("messages", "user"), Place("messages", "assistant")
LEXICON = ["".join(random.Random(n).choices("etaoinshrdlucmfwypvbgkjqxz", k=2 + n % 9)) for n in range(4000)]


def _says(role: str, words: str) -> Item:
    return Item(block.text(words), Place("messages", role))


def query(store: Store, sql: str) -> list[tuple[Any, ...]]:
    """What people who open the database read."""
    with closing(sqlite3.connect(store.path)) as conn:
        return conn.execute(sql).fetchall()


def totals(store: Store) -> tuple[Any, ...]:
    """Number of calls, their fresh input, output and cost, and the number without a price; each call once."""
    (sums,) = query(store, "SELECT count(*), sum(fresh), sum(output), sum(cost), sum(cost IS NULL) FROM calls_once")
    return sums

"""The conversations in the rows of llm's database, whichever generation of its tables holds them (facts §11, §13.4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.transcripts.formats.llm_logs.older import Responses
from ctxtui.transcripts.formats.llm_logs.store import MessageStore
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import word
from ctxtui.transcripts.kit.rows import Row, Tables, rows_reader, tables_in

NAME: Final = "llm"


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins the rows of llm's database."""
    tables = tables_in(head)
    return 0.95 if {"turns", "parts"} <= tables or {"conversations", "responses"} <= tables else 0.0


def _told(tables: Tables, tree: Tree) -> Iterator[Event]:
    turns = sorted(tables.get("turns", []), key=_when)
    known = {word(turn.get("id")) for turn in turns}
    # For a while both generations were written.
    old = [row for row in sorted(tables.get("responses", []), key=_when) if word(row.get("id")) not in known]
    threads = {word(r.get("id")): r for r in [*tables.get("conversations", []), *tables.get("threads", [])]}
    spoken = list(dict.fromkeys(_thread_of(row) for row in [*turns, *old]))
    # A fork that nothing was asked in yet has its history all the same.
    spoken += [id_ for id_, row in threads.items() if id_ not in spoken and row.get("tip_message_hash")]
    roots = [id_ for id_ in spoken if word(threads.get(id_, {}).get("forked_from")) not in spoken] or spoken
    latest = {_thread_of(row): _when(row) for row in sorted([*turns, *old], key=_when)}
    main = max(roots, key=lambda id_: latest.get(id_, ("", "")), default="")
    ids, store, responses = Ids(), MessageStore(tables), Responses(tables)
    yield Described(main, word(threads.get(main, {}).get("name")), NAME, client="llm")
    for name in sorted(spoken, key=lambda id_: (id_ != main, latest.get(id_, ("", "")), id_)):
        row = threads.get(name, {})
        dialogue = Dialogue(tree, MAIN if name == main else name, ids)
        origin = word(row.get("forked_from"))
        parent = (MAIN if origin == main else origin) if origin in spoken and origin != name else ""
        yield ThreadSeen(dialogue.thread, word(row.get("name")), parent)
        for one in (one for one in [*old, *turns] if _thread_of(one) == name):
            yield from store.turn(dialogue, one) if "tip_message_hash" in one else responses.write(dialogue, one)
        store.go_on(dialogue, word(row.get("tip_message_hash")))
        yield dialogue.tip()


def _when(row: Row) -> tuple[str, str]:
    return word(row.get("datetime_utc")), word(row.get("id"))


def _thread_of(row: Row) -> str:
    return word(row.get("thread_id")) or word(row.get("conversation_id")) or word(row.get("id"))


reader = rows_reader(_told)

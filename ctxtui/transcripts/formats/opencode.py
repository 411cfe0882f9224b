"""OpenCode's database, or its files as rows of it: sessions, their messages, the parts of each.

The newest session that no other began is the main thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ctxtui.core.call import Call, EpochStart
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described, Event, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import at, count, moment, money, obj, word
from ctxtui.transcripts.kit.rows import Row, Tables, decoded, rows_reader, tables_in
from ctxtui.transcripts.kit.timestamps import shrunk

NAME: Final = "opencode"
_TABLES: Final = frozenset({"session", "message", "part"})


def sniff(head: bytes, name: str) -> float:
    """How sure it is that `head` begins the rows of OpenCode's database, or a session's file in its storage."""
    if tables_in(head) >= _TABLES:
        return 0.95
    first = obj(next(iter(file_head.values(head)), None))
    ours = word(first.get("id")).startswith("ses_") and "time" in first and {"directory", "projectID"} & first.keys()
    return 0.9 if ours else 0.0


def _told(tables: Tables, tree: Tree) -> Iterator[Event]:
    sessions = {word(row.get("id")): row for row in tables.get("session", [])}
    messages = _by(tables.get("message", []), "session_id")
    parts = _by(tables.get("part", []), "message_id")
    roots = [id_ for id_ in messages if word(sessions.get(id_, {}).get("parent_id")) not in sessions] or list(messages)
    newest = max(roots, key=lambda id_: _time(sessions.get(id_, {}), "time_updated"), default="")
    ids = Ids()
    names = {id_: MAIN if id_ == newest else id_ for id_ in {**sessions, **messages}}
    row = sessions.get(newest, {})
    directory, version = word(row.get("directory")), word(row.get("version"))
    yield Described(newest, word(row.get("title")), NAME, cwd=directory, client="opencode", version=version)
    for id_ in sorted(messages, key=lambda id_: (id_ != newest, id_)):
        session = sessions.get(id_, {})
        parent = names.get(word(session.get("parent_id")), "")
        yield ThreadSeen(names[id_], word(session.get("title")), parent)
        dialogue = Dialogue(tree, names[id_], ids)
        for message in messages[id_]:
            held = obj(decoded(message.get("data")))
            told = [obj(decoded(part.get("data"))) for part in parts.get(word(message.get("id")), [])]
            yield from _message(dialogue, held, told)
        yield dialogue.tip()


def _by(rows: list[Row], key: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: (_time(row, "time_created"), word(row.get("id")))):
        found.setdefault(word(row.get(key)), []).append(row)
    return found


def _time(row: Row, key: str) -> float:
    return moment(row.get(key)) or 0.0


def _message(dialogue: Dialogue, message: dict[str, Json], parts: list[dict[str, Json]]) -> Iterator[Event]:
    if message.get("role") != "assistant":
        said = [made for part in parts if (made := _part(part)) is not None and part.get("ignored") is not True]
        if said:
            dialogue.say(spoken("user", *said))
        return
    step: list[dict[str, Json]] = []
    steps = 0
    for part in parts:
        if part.get("type") == "step-finish":
            steps += 1
            yield from _step(dialogue, message, step, part)
            step = []
        else:
            step.append(part)
    if not steps or any(_part(part) is not None for part in step):
        yield from _step(dialogue, message, step, {} if steps else message)
    if message.get("summary") is True:
        words = "\n".join(word(part.get("text")) for part in parts if part.get("type") == "text")
        dialogue.restart(EpochStart.COMPACTION, shrunk(0, 0, NAME))
        dialogue.say(spoken("assistant", words, mark="summary"))


def _step(
    dialogue: Dialogue, message: dict[str, Json], parts: list[dict[str, Json]], figures: dict[str, Json]
) -> Iterator[Event]:
    """One request of the model: what it said, then what its tools gave back."""
    error = obj(message.get("error"))
    known = Call(
        "",
        "",
        provider=word(message.get("providerID")),
        model=word(message.get("modelID")),
        started=moment(at(message, "time", "created")),
        ended=moment(at(message, "time", "completed")),
        usage=_usage(figures),
        stop_reason=word(figures.get("reason")) or word(message.get("finish")),
        error=word(at(error, "data", "message")) or word(error.get("name")),
    )
    said = [made for part in parts if (made := _part(part)) is not None]
    yield dialogue.answer(spoken("assistant", *said) if said else [], known)
    results = [made for part in parts if (made := _result(part)) is not None]
    if results:
        dialogue.say(spoken("user", *results))


def _part(part: dict[str, Json]) -> Json:
    """A part in the common spelling; None for what no model reads."""
    match part.get("type"):
        case "text":
            return plain_messages.text(word(part.get("text")))
        case "reasoning":
            return plain_messages.thinking(word(part.get("text")), **_kept(part, "metadata"))
        case "tool":
            return plain_messages.tool_use(part.get("callID"), part.get("tool"), at(part, "state", "input"))
        case "file":
            source = {"type": "url", "url": part.get("url"), "media_type": part.get("mime")}
            kind = "image" if word(part.get("mime")).startswith("image/") else "document"
            return {"type": kind, "source": source, **_kept(part, "filename")}
    return None


def _kept(part: dict[str, Json], *names: str) -> dict[str, Json]:
    return {name: part[name] for name in names if part.get(name) is not None}


def _result(part: dict[str, Json]) -> Json:
    state = obj(part.get("state"))
    if part.get("type") != "tool" or state.get("status") not in ("completed", "error"):
        return None
    failed = state["status"] == "error"
    content = state.get("error" if failed else "output")
    return plain_messages.tool_result(part.get("callID"), content if content is not None else "", failed)


def _usage(figures: dict[str, Json]) -> Usage | None:
    """Usage whose input excludes the cache and whose output excludes reasoning; None for zeros."""
    tokens = obj(figures.get("tokens"))
    fresh, read = count(tokens.get("input")), count(at(tokens, "cache", "read"))
    written, thought = count(at(tokens, "cache", "write")), count(tokens.get("reasoning"))
    if fresh + read + written == 0:
        return None
    output = count(tokens.get("output")) + thought
    return Usage(fresh, read, write_5m=written, output=output, reasoning=thought, cost=money(figures.get("cost")))


reader = rows_reader(_told)

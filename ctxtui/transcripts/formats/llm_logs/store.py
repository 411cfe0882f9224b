"""llm's store since mid-2026: messages by hash, each naming the one before it, so that conversations share what they
have in common; a turn names the message that its answer ends with."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.block import Item
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.formats.llm_logs import columns
from ctxtui.transcripts.formats.llm_logs.columns import by, key_of
from ctxtui.transcripts.kit import plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import at, count, listed, obj, objects, word
from ctxtui.transcripts.kit.rows import Row, Tables, decoded


class MessageStore:
    """The rows by what they are asked for with."""

    def __init__(self, tables: Tables) -> None:
        self._messages = {word(row.get("hash")): row for row in tables.get("messages", [])}
        self._parts = by(sorted(tables.get("parts", []), key=lambda r: count(r.get("position"))), "message_hash")
        self._fragments = {key_of(row.get("id")): word(row.get("content")) for row in tables.get("fragments", [])}
        self._attachments = {word(row.get("id")): row for row in tables.get("attachments", [])}
        tools = {key_of(row.get("id")): columns.tool(row) for row in tables.get("tools", [])}
        self._tools = {
            turn: [tools[id_] for row in rows if (id_ := key_of(row.get("tool_id"))) in tools]
            for turn, rows in by(tables.get("turn_tools", []), "turn_id").items()
        }

    def turn(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """The call of a turn: what it was asked, and what it added."""
        chain = self._chain(word(row.get("tip_message_hash")))
        hashes = [word(message.get("hash")) for message in chain]
        parent = word(row.get("parent_message_hash"))
        if parent in hashes:
            asked = hashes.index(parent) + 1
        else:
            asked = len(chain) - 1 if chain and chain[-1].get("role") == "assistant" else len(chain)
        head = dialogue.tree.extend(ROOT, self._tools.get(word(row.get("id")), []))
        for message in chain[:asked]:
            head = dialogue.tree.extend(head, self._items(message))
        said = [item for message in chain[asked:] for item in self._items(message)]
        yield dialogue.answer(said, columns.call(row), after=head)

    def go_on(self, dialogue: Dialogue, tip: str) -> None:
        """The conversation ends at message `tip`, which is further than its last turn where more was put in since."""
        chain = self._chain(tip)
        if not chain:
            return
        items = [item for message in chain for item in self._items(message)]
        tree = dialogue.tree
        held = [item for item in tree.items(dialogue.head) if item.place.section != "tools"]
        if items != held:
            dialogue.head = ROOT
            dialogue.say(items)

    def _chain(self, tip: str) -> list[Row]:
        """The messages up to `tip`, the first one first."""
        found: list[Row] = []
        seen: set[str] = set()
        while tip in self._messages and tip not in seen:
            seen.add(tip)
            found.append(self._messages[tip])
            tip = word(self._messages[tip].get("parent_hash"))
        return found[::-1]

    def _items(self, message: Row) -> list[Item]:
        parts = [self._part(row) for row in self._parts.get(word(message.get("hash")), [])]
        return spoken(word(message.get("role")) or "user", *parts)

    def _part(self, row: Row) -> Json:
        """A stored part in the common spelling; what it holds beyond is kept under its own name."""
        payload = obj(decoded(row.get("payload")))
        if "text_ref" in payload:
            payload = {**payload, "text": self._put_together(payload["text_ref"])}
        text = word(row.get("text")) or word(payload.get("text"))
        id_ = payload.get("tool_call_id", payload.get("id"))
        name = row.get("tool_name") or payload.get("name")
        match row.get("type"):
            case "text":
                return {**_rest(payload), **plain_messages.text(text)}
            case "reasoning":
                if not text and payload.get("redacted") is True:
                    # A mark that the model thought, of which nobody kept or sends a word.
                    return {**_rest(payload), "type": "reasoning", "summary": []}
                signature = at(payload, "provider_metadata", "anthropic", "signature")
                return {**_rest(payload), **plain_messages.thinking(text, signature)}
            case "tool_call":
                given = payload.get("arguments", payload.get("input", {}))
                return {**_rest(payload), **plain_messages.tool_use(id_, name, given)}
            case "tool_result":
                output = payload.get("output", row.get("text"))
                files = [self._file(one) for one in objects(payload.get("attachments"))]
                told = output if output is not None else ""
                content = [plain_messages.text(told), *files] if files else told
                failed = bool(payload.get("exception"))
                return {**_rest(payload), **plain_messages.tool_result(id_, content, failed, name=name)}
            case "attachment":
                return {**_rest(payload), **self._file(obj(payload.get("attachment")))}
        return {**payload, "type": word(row.get("type")) or "part", **({"text": text} if text else {})}

    def _file(self, ref: dict[str, Json]) -> dict[str, Json]:
        return columns.attachment(self._attachments.get(word(ref.get("id")), ref))

    def _put_together(self, pieces: Json) -> str:
        """A text that was stored in pieces, some of them fragments that other texts have as well."""
        return "".join(
            word(piece["literal"]) if "literal" in piece else self._fragments.get(key_of(piece.get("fragment")), "")
            for piece in map(obj, listed(pieces))
        )


_SPELLED = ("type", "text", "text_ref", "name", "arguments", "input", "tool_call_id", "id", "output", "attachments",
            "attachment")  # fmt: skip


def _rest(payload: dict[str, Json]) -> dict[str, Json]:
    return {key: item for key, item in payload.items() if key not in _SPELLED}

"""llm's tables before mid-2026: a row for each response, with what it adds to its conversation."""

from __future__ import annotations

from collections.abc import Iterator

from ctxtui.core.session import Event
from ctxtui.transcripts.formats.llm_logs import columns
from ctxtui.transcripts.formats.llm_logs.columns import by, key_of
from ctxtui.transcripts.kit import plain_messages
from ctxtui.transcripts.kit.chat_messages import spoken
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import count, word
from ctxtui.transcripts.kit.rows import Row, Tables, decoded


class Responses:
    """The rows by what they are asked for with."""

    def __init__(self, tables: Tables) -> None:
        self._calls = by(tables.get("tool_calls", []), "response_id")
        self._results = by(tables.get("tool_results", []), "response_id")
        self._tools = {key_of(row.get("id")): columns.tool(row) for row in tables.get("tools", [])}
        self._offered = by(tables.get("tool_responses", []), "response_id")
        self._fragments = {key_of(row.get("id")): word(row.get("content")) for row in tables.get("fragments", [])}
        self._attachments = {word(row.get("id")): row for row in tables.get("attachments", [])}
        self._beside = {
            name: by(sorted(tables.get(name, []), key=lambda row: count(row.get("order"))), "response_id")
            for name in ("prompt_fragments", "system_fragments", "prompt_attachments")
        }

    def write(self, dialogue: Dialogue, row: Row) -> Iterator[Event]:
        """A response: what it adds to the conversation, and its answer."""
        id_ = word(row.get("id"))
        if dialogue.calls == 0:
            dialogue.say(self._tools[key] for o in self._offered.get(id_, []) if (key := _id(o)) in self._tools)
            system = "\n\n".join(filter(None, [*self._texts("system_fragments", id_), word(row.get("system"))]))
            dialogue.say(spoken("system", system) if system else [])
        results = [
            plain_messages.tool_result(r.get("tool_call_id"), word(r.get("output")), bool(r.get("exception")))
            for r in self._results.get(id_, [])
        ]
        dialogue.say(spoken("user", *results) if results else [])
        prompt = "\n".join(filter(None, [*self._texts("prompt_fragments", id_), word(row.get("prompt"))]))
        refs = [word(ref.get("attachment_id")) for ref in self._beside["prompt_attachments"].get(id_, [])]
        files = [columns.attachment(self._attachments[ref]) for ref in refs if ref in self._attachments]
        asked = [*([prompt] if prompt else []), *files]
        dialogue.say(spoken("user", *asked) if asked else [])
        calls = [
            plain_messages.tool_use(r.get("tool_call_id"), r.get("name"), decoded(r.get("arguments")))
            for r in self._calls.get(id_, [])
        ]
        thought = [plain_messages.thinking(word(row["reasoning"]))] if word(row.get("reasoning")) else []
        said = [word(row["response"])] if word(row.get("response")) else []
        yield dialogue.answer(spoken("assistant", *thought, *said, *calls), columns.call(row))

    def _texts(self, table: str, id_: str) -> list[str]:
        return [self._fragments.get(key_of(ref.get("fragment_id")), "") for ref in self._beside[table].get(id_, [])]


def _id(offered: Row) -> str:
    return key_of(offered.get("tool_id"))

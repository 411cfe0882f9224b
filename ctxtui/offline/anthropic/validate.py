"""What the Anthropic Messages API refuses, written from its documentation alone (facts §1, §2).

Independent of `curation.legality.legality` on purpose: what that lets through is held against this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.bound_thinking import check_thinking
from ctxtui.offline.anthropic.context_edits import edit_refusals
from ctxtui.offline.anthropic.field_errors import typed_refusals, worded
from ctxtui.offline.anthropic.models import Claude, claude
from ctxtui.offline.anthropic.shapes import BETA, BLOCKS, COUNTED, CREATED, SAMPLING, WORDS_OR_BLOCKS
from ctxtui.offline.anthropic.validate_blocks import block_refusals, text_refusals
from ctxtui.offline.anthropic.validate_cache import cache_refusals
from ctxtui.offline.anthropic.validate_media import media_refusals
from ctxtui.offline.anthropic.validate_thinking import thinking_refusals
from ctxtui.offline.anthropic.validate_tools import tool_refusals
from ctxtui.offline.anthropic.validate_turns import turn_refusals
from ctxtui.offline.exchange import Refusal
from ctxtui.offline.json_shape import OBJECT, ROWS, STRING, ShapeField, faults, members, needed, rows

NEW_VERSION: Final = "2026-10-21"
OLD_VERSION: Final = "2023-06-01"
VERSIONS: Final = (NEW_VERSION, OLD_VERSION)

MOST_BYTES: Final = 32 * 1024 * 1024
"""A larger request is answered with 413."""

MOST_MESSAGES: Final = 100_000

ROLES: Final = ("user", "assistant", "system")

SAFEGUARD: Final = "dangerous_tool_use"
"""The one check that is known, under its beta header."""


def refusals(
    body: Json, *, version: str = NEW_VERSION, betas: Collection[str] = (), counting: bool = False
) -> list[Refusal]:
    """Everything in `body`, a request's JSON value, that the API would refuse; empty where it takes it.

    `version` is the ``anthropic-version`` header, `betas` the names in ``anthropic-beta``; `counting` means that it is
    a request for a count. The provider says only the first one. Where the fields themselves are wrong, nothing further
    is looked at.
    """
    if not isinstance(body, dict):
        return [Refusal("Input should be a valid dictionary", rule="wrong type")]
    model = claude(str(body.get("model")))
    found = list(_fields(body, version, betas, counting, model))
    if found:
        return found
    if model is None:
        return [Refusal(f"model: {body['model']}", 404, "not_found_error", rule="unknown model")]
    found = [*_messages(body, bool(betas)), *_system(body)]
    if found:
        return found
    messages = rows(body["messages"])
    return [
        *_numbers(body, model, counting),
        *turn_refusals(messages, model),
        *(_documents(body) if version == NEW_VERSION else ()),
        *_compaction(body),
        *_safeguards(body),
        *cache_refusals(body),
        *tool_refusals(body, model),
        *edit_refusals(body),
        *thinking_refusals(body, model, betas),
        *media_refusals(body, model.images),
        *check_thinking(body, model, betas).refusals,
    ]


def _fields(
    body: Mapping[str, Json], version: str, betas: Collection[str], counting: bool, model: Claude | None
) -> Iterator[Refusal]:
    known: dict[str, ShapeField] = dict(COUNTED if counting else CREATED)
    known |= {key: ShapeField() for key, names in BETA.items() if any(b.startswith(n) for b in betas for n in names)}
    known |= {"safeguards": ROWS} if "safeguards" in known else {}
    if version == OLD_VERSION:
        known |= SAMPLING
        for key in SAMPLING:
            # The value that holds anyway is taken: llm always says it (facts §13.3).
            usual = key == "temperature" and body.get(key) == 1
            if body.get(key) is not None and not usual and model is not None and not model.sampling:
                yield Refusal(f"`{key}` is deprecated for this model.", rule="sampling")
    yield from (worded(fault) for fault in faults(body, known))


def _messages(body: Mapping[str, Json], beta: bool) -> Iterator[Refusal]:
    messages = rows(body["messages"])
    if len(messages) > MOST_MESSAGES:
        yield Refusal(f"messages: at most {MOST_MESSAGES} messages are allowed", rule="too many messages")
    for n, message in enumerate(messages):
        if not isinstance(message, dict):
            yield Refusal(f"messages.{n}: Input should be a valid dictionary", rule="wrong type")
            continue
        role = message.get("role")
        if role not in ROLES:
            told = "Field required" if role is None else "Input should be 'user', 'assistant' or 'system'"
            yield Refusal(f"messages.{n}.role: {told}", rule="role")
        fields = {"role": ShapeField((STRING,)), "content": WORDS_OR_BLOCKS}
        if role == "system" and beta:
            fields |= {"clear_at": ShapeField((STRING,)), "output_config": ShapeField()}
        yield from (worded(fault) for fault in faults(message, fields, ("messages", n)))
        content = message.get("content")
        if isinstance(content, str) and content and not content.strip():
            yield Refusal("messages: text content blocks must contain non-whitespace text", rule="empty text")
        for m, block in enumerate(rows(content)):
            yield from block_refusals(block, ("messages", n, "content", m), beta, True)


def _system(body: Mapping[str, Json]) -> Iterator[Refusal]:
    for n, block in enumerate(rows(body.get("system"))):
        yield from typed_refusals(block, ("system", n), {"text": BLOCKS["text"]})
        yield from text_refusals(members(block), ("system", n), True)


def _numbers(body: Mapping[str, Json], model: Claude, counting: bool) -> Iterator[Refusal]:
    most = body.get("max_tokens")
    if not counting and isinstance(most, int) and most > model.max_output:
        told = f"which is the maximum allowed number of output tokens for {body['model']}"
        yield Refusal(f"max_tokens: {most} > {model.max_output}, {told}", rule="max_tokens")
    if most == 0:
        yield from _warming(body)
    for stop in rows(body.get("stop_sequences")):
        if not isinstance(stop, str):
            yield Refusal("stop_sequences.0: Input should be a valid string", rule="wrong type")
        elif not stop.strip():
            told = "stop_sequences: each stop sequence must contain non-whitespace"
            yield Refusal(told, rule="stop sequence")


def _warming(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """A request that only fills the cache says nothing about an answer."""
    clashes = {
        "stream": body.get("stream") is True,
        "thinking": members(body.get("thinking")).get("type") == "enabled",
        "output_config.format": members(body.get("output_config")).get("format") is not None,
        "tool_choice": members(body.get("tool_choice")).get("type") in ("any", "tool"),
    }
    for name, clash in clashes.items():
        if clash:
            yield Refusal(f"max_tokens: 0 cannot be combined with `{name}`", rule="pre-warm")


def _documents(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """What version 2026-10-21 took away: documents said by the assistant, citations said by the user."""
    for n, message in enumerate(rows(body.get("messages"))):
        for m, block in enumerate(rows(message.get("content"))):
            kind, where = block.get("type"), f"messages.{n}.content.{m}"
            if kind == "document" and message["role"] == "assistant":
                told = "`document` blocks are not permitted directly in an `assistant` message"
                yield Refusal(f"{where}: {told}", rule="assistant document")
            texts = {"text": [block], "search_result": rows(block.get("content"))}.get(str(kind), [])
            if message["role"] == "user" and any(members(part).get("citations") for part in texts):
                told = "`citations` are not permitted on `text` blocks in a `user` message"
                yield Refusal(f"{where}.text.citations: {told}", rule="user citations")


def _safeguards(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """Checks of an answer that the client wants made (facts §13.3)."""
    for n, check in enumerate(rows(body.get("safeguards"))):
        known = {SAFEGUARD: {"type": needed(STRING), "classifier_context": needed(OBJECT)}}
        yield from typed_refusals(check, ("safeguards", n), known)


def _compaction(body: Mapping[str, Json]) -> Iterator[Refusal]:
    """A signed compaction block opens the messages, alone of its kind."""
    places = [
        (n, m)
        for n, message in enumerate(rows(body.get("messages")))
        for m, block in enumerate(rows(message.get("content")))
        if block.get("type") == "compaction" and block.get("signature")
    ]
    if len(places) > 1:
        told = "messages: only one signed `compaction` block is allowed"
        yield Refusal(told, code="compaction_block_ambiguous", rule="compaction")
    elif places and places[0] != (0, 0):
        told = f"messages.{places[0][0]}.content.{places[0][1]}: a `compaction` block must come first in `messages`"
        yield Refusal(told, code="compaction_block_misplaced", rule="compaction")

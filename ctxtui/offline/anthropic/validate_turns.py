"""Validates the order and the contents of turns (facts §1, validity rules)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct, field

from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_dict, as_list
from ctxtui.offline.anthropic.models import Claude
from ctxtui.offline.anthropic.thinking import blocks
from ctxtui.offline.exchange import Refusal

_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_SERVER_CALLS: Final = frozenset({"server_tool_use", "mcp_tool_use"})
_SERVER_RESULT_SUFFIX: Final = "_tool_result"
"""End of the types of results of server tools and MCP (``tool_result`` itself does not end so)."""
_ASSISTANT_BLOCKS: Final = _THINKING | _SERVER_CALLS | {"tool_use"}
PREFILL: Final = "This model does not support assistant message prefill. The conversation must end with a user message."


class BlockAt(NamedTuple):
    """A block with the index of its message and its own index in it, 0-based."""

    message: int
    place: int
    block: Mapping[str, Json]

    @property
    def kind(self) -> str:
        return str(self.block.get("type"))

    def __str__(self) -> str:
        return f"messages.{self.message}.content.{self.place}"


class RoleRun(Struct):
    """Adjacent messages of one role (indexes `first` to `last`), which the provider joins."""

    role: str
    first: int
    last: int
    parts: list[BlockAt] = field(default_factory=list)

    @property
    def ends_in_server_tool(self) -> bool:
        """Whether the last block is a call or a result of a server tool or MCP."""
        kind = self.parts[-1].kind if self.parts else ""
        return kind in _SERVER_CALLS or kind.endswith(_SERVER_RESULT_SUFFIX)

    def blocks_of(self, *kinds: str) -> list[BlockAt]:
        return [part for part in self.parts if part.kind in kinds]


def runs_of(messages: Sequence[Json]) -> list[RoleRun]:
    """Group `messages` into runs of one role."""
    runs: list[RoleRun] = []
    for n, message in enumerate(messages):
        role = str(as_dict(message).get("role"))
        if not runs or runs[-1].role != role:
            runs.append(RoleRun(role, n, n))
        runs[-1].last = n
        content = as_dict(message).get("content")
        runs[-1].parts += [BlockAt(n, m, as_dict(block)) for m, block in enumerate(blocks(content))]
    return runs


def turn_refusals(messages: Sequence[Json], model: Claude) -> Iterator[Refusal]:
    """Refusals of the order and pairing of messages and blocks, empty messages, and the end."""
    if not messages:
        yield Refusal("messages: at least one message is required", rule="no messages")
        return
    yield from _content_refusals(messages)
    runs = runs_of(messages)
    yield from _side_refusals(runs)
    nothing = RoleRun("", -1, -1)
    for before, run, after in zip([nothing, *runs], runs, [*runs[1:], nothing], strict=False):
        if run.role == "assistant":
            yield from _call_refusals(run, after)
            yield from _server_call_refusals(run, after)
        elif run.role == "user":
            yield from _result_refusals(run, before)
        elif run.role == "system":
            yield from _system_refusals(run, before, after, model)
    yield from _id_refusals(runs)
    yield from _end_refusals(messages, runs[-1], model)


def _content_refusals(messages: Sequence[Json]) -> Iterator[Refusal]:
    for n, message in enumerate(messages):
        if as_dict(message).get("content") not in ("", []):
            continue
        role, last = as_dict(message).get("role"), n == len(messages) - 1
        if role == "system" and as_dict(message)["content"] == [] and as_dict(message).get("output_config"):
            # An empty system message only sets the effort from here on; Claude Code sends one after a compaction.
            continue
        if role == "user":
            yield Refusal(f"messages.{n}: user messages must have non-empty content", rule="empty content")
        elif role != "assistant" or not last:
            reason = "all messages must have non-empty content except for the optional final assistant message"
            yield Refusal(f"messages.{n}: {reason}", rule="empty content")


def _side_refusals(runs: Sequence[RoleRun]) -> Iterator[Refusal]:
    """Refusals of blocks in a message of the wrong role."""
    for run in runs:
        for part in run.parts:
            kind = part.kind
            is_of_assistant = kind in _ASSISTANT_BLOCKS or kind.endswith(_SERVER_RESULT_SUFFIX)
            if run.role != "assistant" and is_of_assistant:
                yield Refusal(f"{part}: `{kind}` blocks can only be in `assistant` messages", rule="wrong side")
            elif run.role != "user" and kind == "tool_result":
                yield Refusal(f"{part}: `{kind}` blocks can only be in `user` messages", rule="wrong side")
            elif run.role == "system" and kind not in ("text", "tool_addition", "tool_removal"):
                yield Refusal(
                    f"{part}: `system` messages can only hold `text`, `tool_addition` and `tool_removal` blocks",
                    rule="wrong side",
                )


def _call_refusals(run: RoleRun, next_run: RoleRun) -> Iterator[Refusal]:
    """Each call must be answered in the next message, by results at its start."""
    call_ids = [str(part.block.get("id")) for part in run.blocks_of("tool_use")]
    answered = set(_leading_result_ids(next_run)) if next_run.role == "user" else set()
    missing = [id_ for id_ in call_ids if id_ not in answered]
    if missing:
        message = f"`tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(missing)}"
        each = "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        yield Refusal(f"messages.{run.last}: {message}. {each}", rule="call without result")


def _leading_result_ids(run: RoleRun) -> Iterator[str]:
    for part in run.parts:
        if part.kind != "tool_result":
            return
        yield str(part.block.get("tool_use_id"))


def _result_refusals(run: RoleRun, previous_run: RoleRun) -> Iterator[Refusal]:
    calls = (
        {str(part.block.get("id")): part for part in previous_run.blocks_of("tool_use")}
        if previous_run.role == "assistant"
        else {}
    )
    seen_ids: set[str] = set()
    for part in run.blocks_of("tool_result"):
        id_ = str(part.block.get("tool_use_id"))
        if id_ not in calls:
            message = f"unexpected `tool_use_id` found in `tool_result` blocks: {id_}"
            each = "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            yield Refusal(f"{part}: {message}. {each}", rule="result without call")
        elif id_ in seen_ids:
            message = f"each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id_}"
            yield Refusal(f"{part}: {message}", rule="two results")
        else:
            toolset = calls[id_].block.get("toolset_name")
            if toolset != part.block.get("toolset_name"):
                yield Refusal(f"{part}.tool_result.toolset_name: does not match the `tool_use`", rule="toolset name")
        seen_ids.add(id_)


def _server_call_refusals(run: RoleRun, next_run: RoleRun) -> Iterator[Refusal]:
    """The results of the provider's own calls must follow them in the same message.

    A call may stay open at the end of the request, or if the next message holds nothing but results of client tools.
    Calls of MCP are not checked.
    """
    open_: dict[str, BlockAt] = {}
    for part in run.parts:
        if part.kind == "server_tool_use":
            open_[str(part.block.get("id"))] = part
        elif part.kind.endswith(_SERVER_RESULT_SUFFIX) and part.kind != "mcp_tool_result":
            id_ = str(part.block.get("tool_use_id"))
            if open_.pop(id_, None) is None:
                message = f"unexpected `tool_use_id` found in `{part.kind}` blocks: {id_}"
                each = f"Each `{part.kind}` block must have a corresponding `server_tool_use` block before it."
                yield Refusal(f"{part}: {message}. {each}", rule="server result without call")
    if open_ and next_run.role == "user":
        if not next_run.blocks_of("tool_result"):
            id_, part = next(iter(open_.items()))
            name = part.block.get("name")
            message = f"`{name}` tool use with id `{id_}` was found without a corresponding `{name}_tool_result` block"
            yield Refusal(f"{part}: {message}", rule="server call without result")
        elif any(part.kind != "tool_result" for part in next_run.parts):
            message = "a message that answers a turn with an open server tool may only hold `tool_result` blocks"
            yield Refusal(f"messages.{next_run.first}: {message}", rule="open server call")


def _system_refusals(run: RoleRun, previous_run: RoleRun, next_run: RoleRun, model: Claude) -> Iterator[Refusal]:
    if not model.system_role:
        yield Refusal("role 'system' is not supported on this model", rule="system role")
        return
    ends_in_server_result = bool(previous_run.parts) and previous_run.parts[-1].kind.endswith(_SERVER_RESULT_SUFFIX)
    if not (previous_run.role == "user" or (previous_run.role == "assistant" and ends_in_server_result)):
        message = "a `system` message must follow a `user` message or an `assistant` message that ends in a server tool"
        yield Refusal(f"messages.{run.first}: {message} result", rule="system place")
    if next_run.role not in ("", "assistant"):
        message = "a `system` message must be the last one or be followed by an `assistant` message"
        yield Refusal(f"messages.{run.last}: {message}", rule="system place")


def _id_refusals(runs: Sequence[RoleRun]) -> Iterator[Refusal]:
    seen_ids: set[str] = set()
    for part in (part for run in runs for part in run.blocks_of("tool_use", *_SERVER_CALLS)):
        id_ = str(part.block.get("id"))
        if id_ in seen_ids:
            yield Refusal(f"{part}: `tool_use` ids must be unique", rule="ids unique")
        seen_ids.add(id_)


def _end_refusals(messages: Sequence[Json], last: RoleRun, model: Claude) -> Iterator[Refusal]:
    for n, message in enumerate(messages):
        content = as_list(as_dict(message).get("content"))
        if as_dict(message).get("role") == "assistant" and content and as_dict(content[-1]).get("type") in _THINKING:
            kind = as_dict(content[-1])["type"]
            yield Refusal(
                f"messages.{n}: The final block in an assistant message cannot be `{kind}`.", rule="thinking last"
            )
    if last.role != "assistant":
        return
    # After a server tool the provider may have paused, and the request lets it continue.
    if not model.prefill and not last.ends_in_server_tool:
        yield Refusal(PREFILL, rule="prefill")
    elif last.parts and last.parts[-1].kind == "text":
        text = last.parts[-1].block.get("text")
        if isinstance(text, str) and text != text.rstrip():
            reason = "messages: final assistant content cannot end with trailing whitespace"
            yield Refusal(reason, rule="trailing whitespace")

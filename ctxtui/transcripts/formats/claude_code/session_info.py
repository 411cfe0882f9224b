"""Collects the description of a Claude Code session, and its subagents."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtui.core.block import Block
from ctxtui.core.canonical import Json
from ctxtui.core.session import MAIN, Described
from ctxtui.transcripts.formats.claude_code.records import ClaudeRecord
from ctxtui.transcripts.kit.fields import one_line, replace_surrogates

SOURCE: Final = "claude code"
_COMMAND: Final = re.compile(r"<command-name>(.*?)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.DOTALL)
OUTPUT: Final = "<local-command-stdout>"
"""Start of a record with the output of one of the client's own commands."""
_LONG_CONTEXT: Final = 1_000_000
"""Tokens that ``[1m]`` after a model's name requests."""
_COLOURS: Final = re.compile(r"\x1b\[[0-9;]*m")
_OF_WINDOW: Final = re.compile(r"[\d.]+[kKmM]?\s*/\s*(\d{1,9}(?:\.\d{1,9})?)([kKmM])\s+tokens")
"""The context window in the output of ``/context``."""
_PICTURE_CHARS: Final = 20_000
# Ranks of titles by source: a person's message, a summary, the client's title, the user's own.
_PROMPT, _SUMMARY, _GENERATED, _USER_TITLE = 1, 2, 3, 4


class About(Struct):
    """Collects the session's description.

    `now` is the current one, `emitted` the one that `describe` returned last, `sessions` all ids that its records name.
    A title from a better source replaces another one.
    """

    now: Described = field(default_factory=lambda: Described(source=SOURCE))
    sessions: set[str] = field(default_factory=set)
    emitted: Described = field(default_factory=Described)
    _rank: int = 0
    waiting: dict[str, str] = field(default_factory=dict)
    """Summaries whose last covered record is not read yet, by its id."""

    def add_record(self, record: ClaudeRecord) -> None:
        now = self.now
        same_client = not record.entrypoint or record.entrypoint == now.client
        if same_client and record.session_id == now.id and record.version == now.version and now.cwd:
            return
        session, version = record.session_id or now.id, record.version or now.version
        cwd, client = now.cwd or replace_surrogates(record.cwd or ""), record.entrypoint or now.client
        if session == now.id and version == now.version and cwd == now.cwd and client == now.client:
            return
        if session:
            self.sessions.add(session)
        self.now = replace(now, id=session, cwd=cwd, version=version, client=client)

    def set_window(self, tokens: int) -> None:
        if tokens and tokens != self.now.window:
            self.now = replace(self.now, window=tokens)

    def set_title(self, text: str, rank: int) -> None:
        """Set the title unless one of a higher rank is known.

        Of titles with the same rank the latest counts; of a person's messages the first.
        """
        line = one_line(text)
        if line and (rank > self._rank or (rank == self._rank and rank > _PROMPT)):
            self._rank = rank
            self.now = replace(self.now, title=line)

    def use_prompt_as_title(self, text: str) -> None:
        if self._rank < _PROMPT:
            command = _COMMAND.search(text)
            self.set_title(" ".join(filter(None, command.groups())) if command else text, _PROMPT)

    def add_title_record(self, record: ClaudeRecord, is_known: bool) -> None:
        """Handle a title record; `is_known`: the summary's last record is in this file."""
        if record.custom_title:
            self.set_title(record.custom_title, _USER_TITLE)
        elif record.ai_title:
            self.set_title(record.ai_title, _GENERATED)
        elif record.summary and is_known:
            self.set_title(record.summary, _SUMMARY)
        elif record.summary and record.leaf_uuid:
            self.waiting[record.leaf_uuid] = record.summary

    def resolve_summary(self, uuid: str) -> None:
        """Handle a record of this file, which a pending summary may refer to."""
        if uuid in self.waiting:
            self.set_title(self.waiting.pop(uuid), _SUMMARY)

    def describe(self) -> Described:
        self.emitted = self.now
        return self.now


def parse_shown_window(text: object) -> int:
    """Read the window in tokens from ``/context`` (``23.2k/1m tokens``); 0 for other text."""
    if not isinstance(text, str) or not text.startswith(OUTPUT):
        return 0
    # Only the head: the picture begins with it, and other commands may have printed anything.
    plain_text = _COLOURS.sub("", text[:_PICTURE_CHARS])
    match = _OF_WINDOW.search(plain_text) if "context usage" in plain_text.lower() else None
    return round(float(match[1]) * (1_000_000 if match[2] in "mM" else 1_000)) if match else 0


def window_from_name(model: object) -> int:
    """Return the window that a model's name requests (``claude-opus-4-6[1m]``); 0 if none."""
    return _LONG_CONTEXT if isinstance(model, str) and "[1m]" in model.lower() else 0


class Task(Struct, frozen=True):
    """A call that spawns a subagent: the thread that made it and its description."""

    thread: str = MAIN
    description: str = ""


class Tasks(Struct):
    """Maps subagents to the calls that spawned them.

    They are matched by the agent's id in the call's result, else by the prompt's text.
    """

    _calls: dict[str, Task] = field(default_factory=dict)
    _prompts: dict[str, Task] = field(default_factory=dict)
    _agents: dict[str, Task] = field(default_factory=dict)

    def add_call(self, thread: str, block: Block) -> None:
        """Note a tool call if its input has a prompt, so that it may spawn a subagent."""
        if block.body.find(b'"prompt":') < 0:
            return
        value = block.value()
        tool_input = value.get("input")
        if isinstance(tool_input, dict) and isinstance(tool_input.get("prompt"), str):
            text = tool_input.get("description")
            task = Task(thread, one_line(text) if isinstance(text, str) else "")
            self._calls[str(value.get("id"))] = task
            self._prompts[tool_input["prompt"].strip()] = task

    def spawns(self, call_id: str) -> bool:
        return call_id in self._calls

    def add_result(self, call_id: str, tool_use_result: Json) -> str:
        """Note a call's result; return the id of the subagent that made it ("" for any other call)."""
        agent = tool_use_result.get("agentId") if isinstance(tool_use_result, dict) else None
        if not isinstance(agent, str) or call_id not in self._calls:
            return ""
        self._agents[agent] = self._calls[call_id]
        return agent

    @property
    def agents(self) -> Mapping[str, Task]:
        return self._agents

    def find(self, agent: str, prompt: str) -> Task | None:
        return self._agents.get(agent) or self._prompts.get(prompt.strip())

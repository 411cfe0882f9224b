"""System prompt and tools of Claude Code's requests where a snapshot attachment has them (2.1.280; facts §13.1).

The first snapshot of a process has the texts of the system prompt; after the first answer another one has the tools
and the identity line too. Cache markers and parameters are in neither.
"""

from __future__ import annotations

from typing import Final

from ctxtui.core import block
from ctxtui.core.block import TOOL, Item, Place
from ctxtui.core.canonical import Json
from ctxtui.core.session import Event
from ctxtui.core.tree import ROOT
from ctxtui.transcripts.formats.claude_code.state import ClaudeState
from ctxtui.transcripts.formats.claude_code.threads import ClaudeThread

SNAPSHOT: Final = "prompt_snapshot"


def snapshot(state: ClaudeState, thread: ClaudeThread, told: dict[str, Json], agent: str) -> list[Event]:
    """Take in a snapshot: the thread's calls from now on have what it says, and those before it that had the same
    system prompt have its tools too. Where the requests themselves are on record they say it better."""
    if state.requests(agent).store.shapes:
        return []
    texts = told.get("systemPrompt")
    words = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    prefix, tools = told.get("cliPrefix"), told.get("tools")
    if not words:
        return []
    listed = [_tool(tool) for tool in tools] if isinstance(tools, list) else []
    prompt = "\n\n".join(words)
    system = [*([prefix] if isinstance(prefix, str) and prefix else []), prompt]
    items = [Item(tool, Place("tools")) for tool in listed]
    items += [Item(block.text(text), Place("system")) for text in system]
    old, thread.front = thread.front, state.tree.extend(ROOT, items)
    same, thread.prompt = thread.prompt == prompt, prompt
    thread.front_whole = isinstance(tools, list)
    if not thread.front_whole or not same:
        thread.partial.clear()
        return []
    calls, thread.partial = thread.partial, []
    found: list[Event] = list(state.answers.put_under(calls, thread.front, old))
    return found + state.moved(thread) if found else []


def _tool(tool: Json) -> block.Block:
    """A tool's definition: what a snapshot calls its schema is the whole of it, as it is sent."""
    schema = tool.get("schema") if isinstance(tool, dict) else None
    if isinstance(schema, dict) and "input_schema" in schema:
        return block.make(TOOL, block.without_markers(schema))
    if isinstance(schema, dict):
        tool = {"input_schema" if key == "schema" else key: item for key, item in tool.items()}
    return block.make(TOOL, tool)

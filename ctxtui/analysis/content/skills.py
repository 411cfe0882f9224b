"""Attributes each call of a thread to a skill: the last one requested in the call's turn."""

from __future__ import annotations

import json
import re
from typing import Final

from ctxtui.analysis.content.tool_definitions import called
from ctxtui.core.block import Block
from ctxtui.core.block_content import read
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.turns import turns_of

_CALL, _USER = INDEX["tool_call"], INDEX["user"]
_TOOL: Final = "Skill"
_TYPED: Final = re.compile(r"<command-name>/?([\w:.-]+)</command-name>")
"""Claude Code's record of a skill or command that its user typed."""
_NAMED: Final = ("skill", "command")
"""Fields with the skill's name in the input of Claude Code's tool, newest first."""


def skills_of(session: Session, thread: str) -> list[str]:
    """Skill or command of each call of `thread`, in order; "" if none was requested in its turn.

    A skill requested by the model applies to the calls after it, one typed by the user to the calls of the turn
    that it begins.
    """
    calls, tree = session.thread_calls(thread), session.tree
    turns = turns_of(tree, calls)
    found: list[str] = []
    now, turn, before = "", -1, 0
    for index, call in enumerate(calls):
        if turns.of_call(index) != turn:
            now, turn = "", turns.of_call(index)
        shared = tree.common(before, call.raw_head)
        for node in tree.path(call.raw_head, shared):
            now = (tree[node].category == _USER and _typed(tree[node].block)) or now
        found.append(now)
        before = call.response_head or call.raw_head
        for node in tree.path(before, tree.common(call.raw_head, before)):
            now = (tree[node].category == _CALL and _asked(tree[node].block)) or now
    return found


def _typed(block: Block) -> str:
    if b"<command-name>" not in block.body:
        return ""
    named = _TYPED.search(read(block).text)
    return named[1] if named else ""


def _asked(block: Block) -> str:
    if called(block) != ("", _TOOL):
        return ""
    try:
        given = json.loads(read(block).arguments or "null")
    except ValueError:
        return ""
    names = [given[key] for key in _NAMED if isinstance(given.get(key), str)] if isinstance(given, dict) else []
    return names[0].lstrip("/") if names else ""

"""Attributes each call of a thread to a skill: the last one requested in the call's turn.

A skill is requested by the model (Claude Code's tool ``Skill``) or typed by the user.
"""

from __future__ import annotations

import re
from typing import Final

from ctxtui.core.block import Block
from ctxtui.core.block_content import arguments_value, read
from ctxtui.core.category import INDEX
from ctxtui.core.session import Session
from ctxtui.core.tool_definitions import read_called_tool
from ctxtui.core.turns import turns_of

_CALL, _USER = INDEX["tool_call"], INDEX["user"]
_TOOL: Final = "Skill"
_TYPED: Final = re.compile(r"<command-name>/?([\w:.-]+)</command-name>")
"""Claude Code's record of a skill or command that its user typed."""
_NAMED: Final = ("skill", "command")
"""Fields with the skill's name in the input of Claude Code's tool, newest first."""


def call_skills(session: Session, thread: str) -> list[str]:
    """Skill or command of each call of `thread`, in order; "" if none was requested in its turn.

    A skill requested by the model applies to the later calls of its turn, one typed by the user to all calls of the
    turn that it begins.
    """
    calls, tree = session.thread_calls(thread), session.tree
    turns = turns_of(tree, calls)
    skills: list[str] = []
    now, turn, before = "", -1, 0
    for index, call in enumerate(calls):
        if turns.of_call(index) != turn:
            now, turn = "", turns.of_call(index)
        shared = tree.common(before, call.raw_head)
        for node in tree.path(call.raw_head, shared):
            now = (tree[node].category == _USER and _find_typed_skill(tree[node].block)) or now
        skills.append(now)
        before = call.response_head or call.raw_head
        for node in tree.path(before, tree.common(call.raw_head, before)):
            now = (tree[node].category == _CALL and _find_requested_skill(tree[node].block)) or now
    return skills


def _find_typed_skill(block: Block) -> str:
    if b"<command-name>" not in block.body:
        return ""
    named = _TYPED.search(read(block).text)
    return named[1] if named else ""


def _find_requested_skill(block: Block) -> str:
    if read_called_tool(block) != ("", _TOOL):
        return ""
    arguments = arguments_value(read(block))
    names = [arguments.get(key) for key in _NAMED] if isinstance(arguments, dict) else []
    return next((name.lstrip("/") for name in names if isinstance(name, str)), "")

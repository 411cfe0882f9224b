"""The public Python API: sessions with figures, edits, policies, agents, plug-in types.

    from ctxtui.api import open_session

    with open_session("last") as session:
        for call in session.calls():
            print(call.number, call.figures.context_tokens, call.cost_usd, call.miss and call.miss.cause)

Names in `__all__` follow the version policy (docs/versions.md); everything else may change at any time. Importing this
module imports nothing else: each name is imported when it is first used. All of them take 0.2 s, those of a reader
plug-in, which every command loads, 0.03 s.
"""

from __future__ import annotations

from ctxtui import NEEDS_POSIX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ctxtui.agent.child import Agents, Caller, ChildResult, ChildTask, OwnTool
    from ctxtui.analysis.cache.miss import CacheMiss
    from ctxtui.analysis.cache.miss_finder import Misses
    from ctxtui.analysis.figures import BlockFigure, CallFigures
    from ctxtui.analysis.money.totals import SessionTotals
    from ctxtui.core import block
    from ctxtui.core.block import Block, Item, Place
    from ctxtui.core.call import Call
    from ctxtui.core.edit import Edit, Target
    from ctxtui.core.edit import make as new_edit
    from ctxtui.core.edit_json import loads as parse_edits
    from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
    from ctxtui.core.session import (
        MAIN,
        CallSeen,
        Described,
        Event,
        Happened,
        Outcome,
        Session,
        Skipped,
        ThreadSeen,
        TipMoved,
    )
    from ctxtui.core.tree import ROOT, Tree
    from ctxtui.core.usage import Usage
    from ctxtui.curation.policies.policy import Policy
    from ctxtui.curation.policies.policy_context import PolicyContext, make_edit
    from ctxtui.curation.policies.risk import Risk
    from ctxtui.curation.price.price_tag import PriceTag
    from ctxtui.services.chat.chat_news import ChatNews
    from ctxtui.services.config.policy_registry import load_policies
    from ctxtui.services.headless.api import agent_run, curator, run_task
    from ctxtui.services.headless.run import HeadlessRun
    from ctxtui.services.headless.run_options import Outcome as RunOutcome
    from ctxtui.services.headless.run_options import RunResult
    from ctxtui.services.opened_session import EditedRequest, OpenedSession, SessionCall, open_session
    from ctxtui.services.sandbox.command import CommandResult
    from ctxtui.services.sandbox.confined import run_confined
    from ctxtui.transcripts.kit.readers import json_reader, lines_reader
    from ctxtui.transcripts.reader import Reader

# Type checkers read a literal list only, hence the same names three times: a test compares them.
__all__ = [
    "MAIN",
    "ROOT",
    "Agents",
    "BadConfig",
    "Block",
    "BlockFigure",
    "CacheMiss",
    "Call",
    "CallFigures",
    "CallSeen",
    "Caller",
    "ChatNews",
    "ChildResult",
    "ChildTask",
    "CommandResult",
    "CtxtuiError",
    "Described",
    "Edit",
    "EditedRequest",
    "Event",
    "Happened",
    "HeadlessRun",
    "Item",
    "Misses",
    "NotFound",
    "OpenedSession",
    "Outcome",
    "OwnTool",
    "Place",
    "Policy",
    "PolicyContext",
    "PriceTag",
    "Reader",
    "Risk",
    "RunOutcome",
    "RunResult",
    "Session",
    "SessionCall",
    "SessionTotals",
    "Skipped",
    "Target",
    "ThreadSeen",
    "TipMoved",
    "Tree",
    "Usage",
    "agent_run",
    "block",
    "curator",
    "json_reader",
    "lines_reader",
    "load_policies",
    "make_edit",
    "new_edit",
    "open_session",
    "parse_edits",
    "run_confined",
    "run_task",
]

_MODULES = {
    "agent.child": "Agents Caller ChildResult ChildTask OwnTool",
    "analysis.cache.miss": "CacheMiss",
    "analysis.cache.miss_finder": "Misses",
    "analysis.figures": "BlockFigure CallFigures",
    "analysis.money.totals": "SessionTotals",
    "core": "block",
    "core.block": "Block Item Place",
    "core.call": "Call",
    "core.edit": "Edit Target new_edit=make",
    "core.edit_json": "parse_edits=loads",
    "core.errors": "BadConfig CtxtuiError NotFound",
    "core.session": "CallSeen Described Event Happened MAIN Outcome Session Skipped ThreadSeen TipMoved",
    "core.tree": "ROOT Tree",
    "core.usage": "Usage",
    "curation.policies.policy": "Policy",
    "curation.policies.policy_context": "PolicyContext make_edit",
    "curation.policies.risk": "Risk",
    "curation.price.price_tag": "PriceTag",
    "services.chat.chat_news": "ChatNews",
    "services.config.policy_registry": "load_policies",
    "services.headless.api": "agent_run curator run_task",
    "services.headless.run": "HeadlessRun",
    "services.headless.run_options": "RunOutcome=Outcome RunResult",
    "services.opened_session": "EditedRequest OpenedSession SessionCall open_session",
    "services.sandbox.command": "CommandResult",
    "services.sandbox.confined": "run_confined",
    "transcripts.kit.readers": "json_reader lines_reader",
    "transcripts.reader": "Reader",
}
"""The public names of each module below `ctxtui`, as ``name`` or ``name=its name there``."""

_POSIX_MODULES = ("fcntl", "termios", "tty")
"""Modules that Python on Windows does not have."""

_PLACES = {
    entry.partition("=")[0]: (module, entry.rpartition("=")[2])
    for module, entries in _MODULES.items()
    for entry in entries.split()
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Imported here: reading the version should load nothing.
    from importlib import import_module

    module, attribute = _PLACES[name]
    try:
        value = globals()[name] = getattr(import_module(f"ctxtui.{module}"), attribute)
    except ModuleNotFoundError as error:
        if error.name not in _POSIX_MODULES:
            raise
        raise ImportError(f"{__name__}.{name}: {'; '.join(NEEDS_POSIX)}") from error
    return value

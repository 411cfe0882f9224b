"""Commands of the inspector that travel from call to call."""

from __future__ import annotations

from ctxtui.tui.commands.command import Command, Situation
from ctxtui.tui.commands.inspector_search import SEARCHING

CALLS = "calls"
"""The fact that there is more than one call."""


class _Calls(Command):
    group = "calls"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """With more than one call."""
        return CALLS in at.facts


class PreviousCall(_Calls):
    """The call before: the cursor stays on its block."""

    name, action, keys = "previous call", "step_call(-1)", ("left_square_bracket", "comma")


class NextCall(_Calls):
    """The next call: the cursor stays on its block."""

    name, action, keys = "next call", "step_call(1)", ("right_square_bracket", "full_stop")
    shown, label, short = "[ ]", "calls", "call"


class FirstCall(_Calls):
    """The first call of the thread."""

    name, action, keys = "first call", "call_edge(-1)", ("home",)


class LastCall(_Calls):
    """The last call of the thread, and its end."""

    name, action, keys = "last call", "call_edge(1)", ("end",)


class GoToCall(_Calls):
    """Type a call's number; also an event (miss, -turn) or categories to show."""

    name, action, keys, label, short, first = "go to call", "go", ("g",), "go to call", "go", True


class NextEvent(_Calls):
    """The next event of any kind: turn, miss, compaction, jump of more than 5k, error, change of model."""

    name, action, keys, shown, label, short = "next event", "seek('event', 1)", ("n",), "n N", "events", "event"

    @classmethod
    def available(cls, at: Situation) -> bool:
        """Unless a search is on, whose hits its keys go to."""
        return super().available(at) and SEARCHING not in at.facts


class PreviousEvent(NextEvent):
    """The event before."""

    name, action, keys, shown, label, short = "previous event", "seek('event', -1)", ("N",), "", "", ""


def _seeker(kind: str, step: int, key: str) -> type[Command]:
    word = "next" if step > 0 else "previous"
    told = {"jump": "call that brought more than 5k tokens", "miss": "cache miss", "model": "change of model"}.get(
        kind, kind
    )
    doc = f"To the {word} {told}."
    return type(
        f"{word.title()}{kind.title()}",
        (_Calls,),
        {"__doc__": doc, "name": f"{word} {told}", "action": f"seek('{kind}', {step})", "keys": (key,) if key else ()},
    )


_KEYS: dict[str, tuple[str, str]] = {
    "turn": ("right_curly_bracket", "left_curly_bracket"),
    "miss": ("m", "M"),
    "compaction": ("", ""),
    "jump": ("", ""),
    "error": ("", ""),
    "model": ("", ""),
}
"""Keys for the next and the one before; kinds without are reached by palette, prompt, or `n` and `N`."""
SEEKERS = tuple(
    _seeker(kind, step, key) for kind, keys in _KEYS.items() for step, key in zip((1, -1), keys, strict=True)
)

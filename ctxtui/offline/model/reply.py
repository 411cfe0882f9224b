"""The model that is none: it calls the tool that fits what is asked for, and quotes what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.canonical import Json, text_of
from ctxtui.offline.answer import CALLS, AnsweredCall, ModelAnswer, Part, Thought, Words
from ctxtui.offline.conversation import ScriptTask, ToolOutcome, named
from ctxtui.offline.json_shape import members
from ctxtui.offline.model.request_parser import Intent, is_pronoun, unquoted, wishes
from ctxtui.offline.model.schema_example import instance
from ctxtui.offline.model.summary import asks_for_summary, in_tags, summary, wants_text_only
from ctxtui.offline.model.tool_choice import call_for, closest, cut, ends_task, paths
from ctxtui.offline.offered import ToolOffer, call, called_within
from ctxtui.wire.definitions import Definition

SELF: Final = "I am no model: this is ctxtui's offline provider"
SKILLS: Final = "read, find, list, run, remember, write, and `call TOOL name=value`"
_FILLER: Final = ("offline", "text", "that", "no", "model", "wrote", "and", "nobody", "needs", "to", "read")


class Manner(Struct, frozen=True):
    """How the request wants its answer: `forced` is a tool's name, "*" for any tool, "" for none, `calls` says whether
    tools may be called at all, `parallel` several at once. `thinks`: with thinking. `form` is the JSON schema that the
    text must fit. `stands_for` is the model whose rules are simulated."""

    forced: str = ""
    calls: bool = True
    parallel: bool = True
    thinks: bool = False
    form: Json = None
    stands_for: str = ""


def answer(talk: ScriptTask, manner: Manner) -> ModelAnswer:
    """What is said to `talk`."""
    asked = wishes(talk.task)
    made = _next_calls(talk, manner, asked)
    if made:
        told = ", ".join(" ".join(called_within(call.name, call.spelled)) for call in made)
        said: list[Part] = [Words(f"I call {told}.")] if not manner.forced else []
        return ModelAnswer((*_thought(f"To do: {cut(talk.task)!r}. {told} fits.", manner), *said, *made), CALLS)
    if asks_for_summary(talk.task):
        words = in_tags(f"{SELF}. So far:\n{summary(talk, task=False)}", talk.task)
    elif manner.form is not None:
        words = text_of(instance(manner.form, cut(talk.task) or "offline"))
    else:
        words = _said(talk, manner, asked)
    return ModelAnswer((*_thought(f"Nothing left to call for {cut(talk.task)!r}; I quote.", manner), Words(words)))


def _thought(text: str, manner: Manner) -> tuple[Thought, ...]:
    return (Thought(f"{SELF}. {text}"),) if manner.thinks else ()


def _next_calls(talk: ScriptTask, manner: Manner, asked: Sequence[Intent]) -> list[AnsweredCall]:
    """The calls of the next step that is not done yet; after the last one, the tool that ends the task."""
    if not manner.calls or not talk.tools:
        return []
    if not manner.forced and (asks_for_summary(talk.task) or wants_text_only(talk.task)):
        return []
    tools = [tool for tool in talk.tools if manner.forced in ("", "*", tool.name) or _code(tool) == manner.forced]
    fitting = [(wish, made) for wish in asked for made in (call_for(_resolved(wish, talk), tools),) if made is not None]
    left = fitting[talk.made :]
    step = [made for wish, made in left if wish.step == left[0][0].step]
    if not step:
        last = _last_tool(talk, manner, tools)
        step = [call(last, _ending(last, talk, manner, asked))] if last is not None else []
    return step if manner.parallel else step[:1]


def _last_tool(talk: ScriptTask, manner: Manner, tools: Sequence[Definition]) -> Definition | None:
    """The tool to call where nothing else is left: the one that takes the answer, once; else any where one must be."""
    called = Counter(heard.name for heard in talk.heard)
    ends = next((tool for tool in tools if ends_task(tool)), None)
    if ends is not None and (not called[ends.name] or manner.forced):
        return ends
    # Always the same one would go on for ever.
    return min(tools, key=lambda tool: called[tool.name], default=None) if manner.forced else None


def _ending(tool: Definition, talk: ScriptTask, manner: Manner, asked: Sequence[Intent]) -> Json:
    """What is said to a last tool: the answer where it asks for one text, else the plainest that its schema takes."""
    alone = len(members(members(tool.schema).get("properties"))) == 1
    words = _said(talk, manner, asked) if alone and ends_task(tool) else cut(unquoted(talk.task)) or "offline"
    return instance(tool.schema, words)


def _code(tool: Definition) -> str:
    return tool.code if isinstance(tool, ToolOffer) else ""


def _resolved(wish: Intent, talk: ScriptTask) -> Intent:
    """A wish about "it": the first path that came back; to look in "it", the last one that was asked for."""
    if not wish.refers:
        return wish
    came = paths([heard.text for heard in talk.heard])
    asked = paths([heard.arguments for heard in talk.heard])
    what = came[0] if came and is_pronoun(wish.what) else wish.what
    where = (asked or came or [wish.where])[-1] if is_pronoun(wish.where) else wish.where
    return replace(wish, what=what, where=where)


def _said(talk: ScriptTask, manner: Manner, asked: Sequence[Intent]) -> str:
    spoken = next((wish for wish in asked if wish.verb == "say"), None)
    if spoken is not None:
        return _spoken(spoken.what)
    who = SELF + (f", with the rules of {manner.stands_for}" if manner.stands_for else "")
    if talk.heard:
        return "\n".join([f"{who}. What came back:", *map(_reported, talk.heard), *_quoted(talk)])
    kept = [wish.what for wish in asked if wish.verb == "remember"]
    if kept:
        return f"{who}. Noted, as long as it stands in the context: {'; '.join(kept)}."
    if asked:
        lacking = ", ".join(sorted({wish.verb for wish in asked}))
        return f"{who}. I would {lacking}, but no tool offered fits: {named(talk.tools)}."
    quoted = _quoted(talk)
    if quoted:
        return "\n".join([f"{who}.", *quoted])
    return f"{who}. I understand {SKILLS}, one after the other with `then`. Tools offered: {named(talk.tools)}."


def _reported(heard: ToolOutcome) -> str:
    if heard.failed:
        return f"- {heard.name} {heard.arguments} failed: {cut(heard.text.strip())}"
    lines = heard.text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "nothing")
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return f"- {heard.name} {heard.arguments}: {count}, `{cut(first)}`"


def _quoted(talk: ScriptTask) -> list[str]:
    sources = [(f"{heard.name} {heard.arguments}", heard.text) for heard in talk.heard] or list(talk.earlier)
    found = closest(talk.task, sources)
    return ["Closest to what you ask:", *(f"- {source}: `{line}`" for source, line in found)] if found else []


def _spoken(what: str) -> str:
    """`what`, or so many words where it says how many."""
    number, _, unit = what.partition(" ")
    if number.isdigit() and unit.startswith(("word", "token")):
        count = min(int(number), 200_000)
        return " ".join(_FILLER[n % len(_FILLER)] for n in range(count))
    return what or "nothing"

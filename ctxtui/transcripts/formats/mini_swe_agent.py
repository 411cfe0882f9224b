"""mini-SWE-agent's trajectories: one JSON with messages and the provider's answers in them, or a bare list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.session import Described, Event, Outcome
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import at, listed, moment, money, obj, objects, word
from ctxtui.transcripts.kit.readers import json_reader
from ctxtui.transcripts.kit.tasks import outcomes
from ctxtui.wire import openai_chat, openai_responses

NAME: Final = "mini-swe-agent"
_PLAIN: Final = frozenset({"role", "content"})


def sniff(head: bytes, name: str) -> float:
    """Confidence that `head` begins a trajectory."""
    found = file_head.values(head)
    first = found[0] if found else None
    if isinstance(first, dict):
        if word(first.get("trajectory_format")).startswith("mini-swe-agent"):
            return 1.0
        info = obj(first.get("info"))
        config = obj(info.get("config"))
        if "mini_version" in info or ("agent" in config and "model" in config and "samples" not in first):
            return 0.95
        return 0.9 if "model_stats" in info and isinstance(first.get("messages"), list) else 0.0
    messages = objects(first)
    if not messages or not all(message.keys() >= _PLAIN for message in messages[:-1]):
        return 0.0
    # A bare list is only chat messages, so the file name decides.
    ours = ".traj" in name or "mini" in name or any("extra" in message for message in messages)
    return 0.7 if ours and "role" in messages[0] else 0.0


def take(value: Json, tree: Tree) -> Iterator[Event]:
    """Yield the events of a trajectory."""
    yield Described(source=NAME)
    whole = obj(value)
    info = obj(whole.get("info"))
    messages = listed(whole.get("messages")) if isinstance(value, dict) else listed(value)
    model = word(at(info, "config", "model", "model_name"))
    dialogue = Dialogue(tree)
    for n, message in enumerate(messages):
        yield from _say(dialogue, message, model, f"$.messages[{n}]")
    yield dialogue.tip()
    name = word(whole.get("instance_id")) or word(info.get("instance_id"))
    cwd = word(at(info, "config", "environment", "cwd"))
    yield Described(id=name, title=name or dialogue.title, cwd=cwd, version=word(info.get("mini_version")))
    last = obj(at(messages, -1, "extra")) if at(messages, -1, "role") == "exit" else {}
    yield from outcomes({**last, **info})
    yield from (Outcome(key, str(n)) for key, n in obj(info.get("model_stats")).items() if isinstance(n, int | float))


def _say(dialogue: Dialogue, message: Json, model: str, path: str) -> Iterator[Event]:
    if at(message, "role") == "exit":
        # Written by the client when it stops; no model reads it.
        return
    if at(message, "object") == "response" and isinstance(at(message, "output"), list):
        call = _call({"extra": {**obj(message.get("extra")), "response": message}}, model)
        yield dialogue.answer(openai_responses.decode_response(message).items, call)
        return
    yield from messages.say(dialogue, message, lambda said: _call(said, model), path)


def _call(message: dict[str, Json], model: str) -> Call:
    extra = obj(message.get("extra"))
    answer = extra.get("response")
    known = Call("", "", model=model, ended=moment(extra.get("timestamp")))
    if not isinstance(answer, dict):
        return known
    try:
        module = openai_responses if "output" in answer else openai_chat
        said = module.decode_response(answer)
    except Malformed:
        return replace(known, extra={"response": answer})
    cost = money(extra.get("cost"))
    usage = replace(said.usage, cost=cost) if said.usage and cost is not None else said.usage
    return replace(
        known,
        id=said.id,
        model=said.model or model,
        usage=usage,
        started=moment(answer.get("created", answer.get("created_at"))),
        stop_reason=said.stop_reason,
        error=said.error,
        extra=said.extra,
    )


reader = json_reader(take)

"""Reads mini-SWE-agent's trajectories: messages and answers, or bare messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_dict, as_list, as_number, as_str
from ctxtui.core.session import Described, Event, Outcome
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_dicts, as_time, get_path
from ctxtui.transcripts.kit.readers import json_reader
from ctxtui.transcripts.kit.tasks import read_outcomes, value_text
from ctxtui.wire import openai_chat, openai_responses

NAME: Final = "mini-swe-agent"
_PLAIN: Final = frozenset({"role", "content"})


def sniff(head: bytes, name: str) -> float:
    values = file_head.parse_values(head)
    first = values[0] if values else None
    if isinstance(first, dict):
        if as_str(first.get("trajectory_format")).startswith("mini-swe-agent"):
            return 1.0
        info = as_dict(first.get("info"))
        config = as_dict(info.get("config"))
        if "mini_version" in info or ("agent" in config and "model" in config and "samples" not in first):
            return 0.95
        return 0.9 if "model_stats" in info and isinstance(first.get("messages"), list) else 0.0
    messages = as_dicts(first)
    if not messages or not all(message.keys() >= _PLAIN for message in messages[:-1]):
        return 0.0
    # A bare list may be any chat messages, so the file name or a member `extra` decides.
    is_mini_swe = ".traj" in name or "mini" in name or any("extra" in message for message in messages)
    return 0.7 if is_mini_swe and "role" in messages[0] else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    yield Described(source=NAME)
    trajectory = as_dict(value)
    info = as_dict(trajectory.get("info"))
    messages = as_list(trajectory.get("messages")) if isinstance(value, dict) else as_list(value)
    model = as_str(get_path(info, "config", "model", "model_name"))
    dialogue = Dialogue(tree)
    for n, message in enumerate(messages):
        yield from _add_message(dialogue, message, model, f"$.messages[{n}]")
    yield dialogue.tip_event()
    name = as_str(trajectory.get("instance_id")) or as_str(info.get("instance_id"))
    cwd = as_str(get_path(info, "config", "environment", "cwd"))
    yield Described(id=name, title=name or dialogue.title, cwd=cwd, version=as_str(info.get("mini_version")))
    last = as_dict(get_path(messages, -1, "extra")) if get_path(messages, -1, "role") == "exit" else {}
    yield from read_outcomes({**last, **info})
    yield from (
        Outcome(key, value_text(n)) for key, n in as_dict(info.get("model_stats")).items() if as_number(n) is not None
    )


def _add_message(dialogue: Dialogue, message: Json, model: str, path: str) -> Iterator[Event]:
    if get_path(message, "role") == "exit":
        # Written by the client when it stops; no model reads it.
        return
    if get_path(message, "object") == "response" and isinstance(get_path(message, "output"), list):
        call = _find_call({"extra": {**as_dict(message.get("extra")), "response": message}}, model)
        yield dialogue.add_call(openai_responses.decode_response(message).items, call)
        return
    yield from messages.add_message(dialogue, message, lambda text: _find_call(text, model), path)


def _find_call(message: dict[str, Json], model: str) -> Call:
    message_extra = as_dict(message.get("extra"))
    answer = message_extra.get("response")
    base_call = Call("", "", model=model, ended=as_time(message_extra.get("timestamp")))
    if not isinstance(answer, dict):
        return base_call
    try:
        module = openai_responses if "output" in answer else openai_chat
        response = module.decode_response(answer)
    except Malformed:
        return replace(base_call, extra={"response": answer})
    cost = as_number(message_extra.get("cost"))
    usage = replace(response.usage, cost=cost) if response.usage and cost is not None else response.usage
    return replace(
        base_call,
        id=response.id,
        model=response.model or model,
        usage=usage,
        started=as_time(answer.get("created", answer.get("created_at"))),
        stop_reason=response.stop_reason,
        error=response.error,
        extra=response.extra,
    )


reader = json_reader(read_session)

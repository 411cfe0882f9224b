"""Reads SWE-agent's trajectories: the history, or newer versions' messages of each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import Described, Event, Outcome
from ctxtui.core.tree import ROOT, Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head, messages
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids, emit_sum
from ctxtui.transcripts.kit.fields import as_dicts, get_path
from ctxtui.transcripts.kit.readers import decode_column, json_reader
from ctxtui.transcripts.kit.tasks import read_outcomes, value_text

NAME: Final = "swe-agent"


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    if not isinstance(first, dict):
        return 0.0
    step = as_dict(get_path(first, "trajectory", 0))
    if {"action", "observation"} <= step.keys() or {"trajectory", "history"} <= first.keys():
        return 0.95
    message = as_dict(get_path(first, "history", 0))
    return (
        0.85 if {"role", "content"} <= message.keys() and message.keys() & {"agent", "message_type", "is_demo"} else 0.0
    )


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    trajectory = as_dict(value)
    model, cwd = _read_settings(trajectory.get("replay_config"))
    yield Described(source=NAME, cwd=cwd)
    ids = Ids()
    dialogue = Dialogue(tree, ids=ids)
    steps = as_dicts(trajectory.get("trajectory"))
    if any(_sent_messages(step) for step in steps):
        yield from _add_steps(dialogue, steps, model)
    else:
        history = [_with_call_id(message) for message in as_list(trajectory.get("history"))]
        yield from messages.add_messages(dialogue, history, lambda message: _find_call(message, model), "$.history")
        if len(steps) == dialogue.calls + 1:
            # The last answer ended the run and is not in the history.
            yield dialogue.add_call(messages.message_items(_answer_message(steps[-1])), Call("", "", model=model))
    yield dialogue.tip_event()
    yield Described(title=dialogue.title)
    info = as_dict(trajectory.get("info"))
    yield from read_outcomes(info)
    stats = as_dict(info.get("model_stats"))
    yield from (Outcome(key, value_text(n)) for key, n in stats.items())
    spent = _total_usage(stats)
    if spent is not None:
        yield from emit_sum(tree, ids, Call("", "", model=model, usage=spent), dialogue.unreported)


def _total_usage(stats: dict[str, Json]) -> Usage | None:
    tokens_sent, received = as_count(stats.get("tokens_sent")), as_count(stats.get("tokens_received"))
    cost = as_number(stats.get("instance_cost")) or None
    return Usage(tokens_sent, output=received, has_cache=False, cost=cost) if tokens_sent else None


def _read_settings(config: Json) -> tuple[str, str]:
    """Model and folder from the run's configuration, which is JSON in a string."""
    config = decode_column(config)
    model = as_str(get_path(config, "agent", "model", "name")) or as_str(
        get_path(config, "agent", "model", "model_name")
    )
    return model, as_str(get_path(config, "env", "repo", "path"))


def _sent_messages(step: dict[str, Json]) -> list[Json]:
    """Messages sent with a step; older versions call them ``messages``."""
    return as_list(step.get("query")) or as_list(step.get("messages"))


def _add_steps(dialogue: Dialogue, steps: list[dict[str, Json]], model: str) -> Iterator[Event]:
    for n, step in enumerate(steps):
        dialogue.head = ROOT
        for k, message in enumerate(_sent_messages(step)):
            yield from messages.add_message(
                dialogue, _with_call_id(message), lambda _: None, f"$.trajectory[{n}].query[{k}]"
            )
        took = as_number(step.get("execution_time"))
        call = Call("", "", model=model, extra={"execution_time": took} if took is not None else {})
        yield dialogue.add_call(messages.message_items(_answer_message(step)), call)
        observation = step.get("observation")
        if isinstance(observation, str) and n == len(steps) - 1 and observation:
            dialogue.add(messages.message_items({"role": "user", "content": observation}))


def _answer_message(step: dict[str, Json]) -> dict[str, Json]:
    members = {key: step[key] for key in ("tool_calls", "thinking_blocks") if step.get(key)}
    return {"role": "assistant", "content": as_str(step.get("response")) or as_str(step.get("thought")), **members}


def _with_call_id(message: Json) -> Json:
    ids = as_list(get_path(message, "tool_call_ids"))
    if isinstance(message, dict) and ids and "tool_call_id" not in message:
        return {**message, "tool_call_id": ids[0]}
    return message


def _find_call(message: dict[str, Json], model: str) -> Call | None:
    # A demonstration is hand-written input, not an answer of the model.
    if message.get("is_demo"):
        return None
    base_call = Call("", "", model=model)
    return replace(base_call, extra={"agent": message["agent"]}) if message.get("agent") else base_call


reader = json_reader(read_session)

"""Reads the log of one turn of a screen-reading agent (LLuMa's)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ctxtui.core.block import Item
from ctxtui.core.call import Call, Fidelity
from ctxtui.core.canonical import Json, dump_text
from ctxtui.core.json_values import as_count, as_dict, as_list, as_number, as_str
from ctxtui.core.session import Event, Happened, Skipped
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit.dialogue import Dialogue
from ctxtui.transcripts.kit.fields import as_time, one_line
from ctxtui.transcripts.kit.messages import make_message

_INPUT: Final = ("input_tokens", "input", "prompt_tokens")
_OUTPUT: Final = ("output_tokens", "output", "completion_tokens")
_CACHED: Final = ("cache_read_input_tokens", "cache_creation_input_tokens")
_SEEN: Final = ("vision", "observation", "screen", "perception")
_THOUGHT: Final = ("thinking", "thoughts")
_SAID: Final = ("reasoning", "text", "message", "reply")
_DID: Final = ("memory_actions", "memory_action", "actions", "tool_calls", "input_action", "input_actions", "action")
_CONTEXT_TURNS: Final = 9
"""Earlier turns in a turn's context: the program keeps twenty messages."""


def _find_figures(turn: dict[str, Json]) -> dict[str, Json]:
    """Find the token counts of a turn, or of its agent; empty if there are none."""
    for holder in (turn, _find_agent(turn)):
        for candidate in (as_dict(holder.get("usage")), as_dict(holder.get("token_usage")), holder):
            if candidate.keys() & set(_INPUT) and candidate.keys() & set(_OUTPUT):
                return candidate
    return {}


def is_turn(turn: dict[str, Json], name: str = "") -> bool:
    """Whether `turn` is such a log: it is numbered, and has tokens or actions."""
    numbered = bool(turn.keys() & {"turn", "turn_id"}) or name.startswith("turn")
    return numbered and bool(_find_figures(turn) or (_find_agent(turn) and _answer_parts(_find_agent(turn))))


def turn_call(turn: dict[str, Json]) -> Call:
    figures, agent = _find_figures(turn), _find_agent(turn)
    usage = None
    if figures:
        input_tokens = next((as_count(figures[key]) for key in _INPUT if key in figures), 0)
        read, written = (as_count(figures.get(key)) for key in _CACHED)
        # The total, by their documentation; if the cache alone is larger, it is the provider's separate count.
        fresh = input_tokens - read - written if input_tokens >= read + written else input_tokens
        output = next((as_count(figures[key]) for key in _OUTPUT if key in figures), 0)
        usage = Usage(
            fresh=fresh,
            cache_read=read,
            write_5m=written,
            output=output,
            has_cache=bool(figures.keys() & set(_CACHED)),
            cost=as_number(turn.get("cost_usd")),
        )
    time = next((as_time(turn[key]) for key in ("timestamp", "time") if key in turn), None)
    model = as_str(turn.get("model")) or as_str(agent.get("model"))
    return Call("", "", provider=as_str(turn.get("provider")), model=model, ended=time, usage=usage)


class Turns:
    """Adds the turns of a run to `dialogue`, one by one.

    A turn with recorded tokens continues the turns before it; in older versions of the program, which do not record
    them, each turn was a request of its own.
    """

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._before: list[list[list[Item]]] = []
        """The messages of each turn so far: observation, answer, results."""

    def add(self, turn: dict[str, Json]) -> Iterator[Event]:
        agent, call = _find_agent(turn), turn_call(turn)
        parts = _answer_parts(agent)
        if not parts and call.usage is not None:
            yield self._dialogue.add_call([], replace(call, fidelity=Fidelity.TOTALS))
        elif not parts:
            yield _make_event(turn)
        else:
            observation, answer = make_message("user", _observation_text(turn)), make_message("assistant", *parts)
            self._dialogue.head = 0
            for messages in self._before[-_CONTEXT_TURNS:] if call.usage is not None else ():
                for message in messages:
                    self._dialogue.add(message)
            self._dialogue.add(observation)
            results = list(_call_results(turn, parts))
            self._before.append([observation, answer, *([make_message("user", *results)] if results else [])])
            yield self._dialogue.add_call(answer, call)


def _find_agent(turn: dict[str, Json]) -> dict[str, Json]:
    """The member of a turn's log that holds the model's usage or action; empty if there is none."""
    named = [as_dict(turn.get(name)) for name in ("agent", "llm", "model", "response", "decision")]
    return next((member for member in named if member.keys() & {"usage", "token_usage", *_THOUGHT, *_SAID, *_DID}), {})


def _observation_text(turn: dict[str, Json]) -> str:
    head = [dump_text(turn[key]) if not isinstance(turn[key], str) else as_str(turn[key]) for key in
            ("turn_id", "turn", "timestamp", "time") if key in turn]  # fmt: skip
    observation = next((turn[name] for name in _SEEN if turn.get(name) is not None), None)
    return " ".join(head) + (f"\n{dump_text(observation)}\n" if observation is not None else "")


def _answer_parts(agent: dict[str, Json]) -> list[Json]:
    parts: list[Json] = []
    parts += [{"type": "thinking", "thinking": text} for key in _THOUGHT if (text := as_str(agent.get(key)))]
    parts += [text for key in _SAID if (text := as_str(agent.get(key)))]
    done = [
        as_dict(action) for key in _DID for action in (as_list(agent.get(key)) or [agent.get(key)]) if as_dict(action)
    ]
    for number, action in enumerate(done):
        name = as_str(action.get("name")) or as_str(action.get("tool")) or as_str(action.get("type"))
        arguments = action.get(
            "arguments", action.get("args", {k: v for k, v in action.items() if k not in ("name", "tool")})
        )
        tool_input: Json = arguments if isinstance(arguments, dict) else {"value": arguments}
        parts.append({"type": "tool_use", "id": f"call_{number}", "name": name, "input": tool_input})
    return parts


def _call_results(turn: dict[str, Json], parts: list[Json]) -> Iterator[dict[str, Json]]:
    """Results of a turn's calls, which are in the next turn's message."""
    calls = [as_str(as_dict(part)["id"]) for part in parts if as_dict(part).get("type") == "tool_use"]
    outputs = as_list(_find_agent(turn).get("execution_results"))
    for number, id_ in enumerate(calls):
        output = (
            outputs[number] if number < len(outputs) else turn.get("input_execution", "") if id_ == calls[-1] else ""
        )
        text = output if isinstance(output, str) else dump_text(output)
        yield {"type": "tool_result", "tool_use_id": id_, "content": text}


def _make_event(turn: dict[str, Json]) -> Event:
    name = as_str(turn.get("turn_id")) or "a turn"
    error = as_dict(turn.get("error"))
    if error:
        return Happened("api error" if error.get("type") == "agent" else "error", one_line(dump_text(error)))
    if "failsafe" in turn:
        return Happened("no call", f"{name}: {one_line(dump_text(turn['failsafe']))}")
    return Skipped(1, "a turn's log without tokens")

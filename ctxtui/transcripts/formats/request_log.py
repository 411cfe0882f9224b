"""Logs of one request with its answer in one JSON: OpenHands' LLM logs, and similar ones."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from msgspec.structs import replace

from ctxtui.core import canonical
from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.session import Described, Event, Skipped
from ctxtui.core.tree import Tree
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.fields import as_dicts, as_time
from ctxtui.transcripts.kit.http_exchange.exchanges import Exchanges
from ctxtui.transcripts.kit.http_exchange.pair import Exchange
from ctxtui.transcripts.kit.readers import LOGS, json_reader
from ctxtui.transcripts.kit.tasks import value_text

NAME: Final = "llm log"
_OPENHANDS: Final = frozenset({"kwargs", "context_window", "latency_sec", "cost"})
_ANSWER: Final = frozenset({"choices", "output", "content", "usage"})
_CONTEXT: Final = ("model", "instructions", "tools", "messages", "input")


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_values(head)), None)
    if isinstance(first, list):
        return 0.95 if first[:1] == [LOGS] else 0.0
    if not isinstance(first, dict) or not ({"messages", "input"} & first.keys()):
        return 0.0
    if len(_OPENHANDS & first.keys()) >= 2:
        return 0.95
    answer = first.get("response")
    if isinstance(answer, dict) and _ANSWER & answer.keys() and not {"task_id", "eval"} & first.keys():
        return 0.8
    # The answer may be beyond the head.
    return 0.6 if "kwargs" in first and as_dicts(first.get("messages")) else 0.0


def read_session(value: Json, tree: Tree) -> Iterator[Event]:
    exchanges = Exchanges(tree)
    yield Described(source=NAME)
    for number, log in enumerate(value[1:] if isinstance(value, list) else [value], 1):
        if not isinstance(log, dict):
            yield Skipped(number, f"not a log: {value_text(log)}")
            continue
        yield Described(window=as_count(log.get("context_window")))
        yield from exchanges.add_exchange(_exchange(log), partial(_with_cost, as_number(log.get("cost"))))
    yield from exchanges.threads.settle()
    yield Described(title=exchanges.threads.title)


def _exchange(log: dict[str, Json]) -> Exchange:
    answer = as_dict(log.get("response"))
    request = as_dict(log.get("kwargs")) | {key: log[key] for key in _CONTEXT if log.get(key) is not None}
    model = as_str(request.get("model")) or as_str(log.get("backing_model")) or as_str(answer.get("model"))
    # Context first, then parameters, as a client would send them.
    body: dict[str, Json] = {"model": model}
    body |= {key: request.pop(key) for key in _CONTEXT[1:] if key in request}
    body |= {key: item for key, item in request.items() if key != "model"}
    ended, latency = as_time(log.get("timestamp")), as_number(log.get("latency_sec"))
    started = max(0.0, ended - latency) if ended is not None and latency is not None else as_time(answer.get("created"))
    return Exchange(canonical.dumps(body), canonical.dumps(answer) if answer else b"", started=started, ended=ended)


def _with_cost(cost: float | None, call: Call) -> Call:
    if cost is None or call.usage is None or call.usage.cost is not None:
        return call
    return replace(call, usage=replace(call.usage, cost=cost))


reader = json_reader(read_session)

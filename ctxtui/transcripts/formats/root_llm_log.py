"""Reads the log of an evolutionary search's root model (pineapple, mango), with trials.

The root model directs the search; a trial is one request to a child model, in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from msgspec.structs import replace

from ctxtui.core.call import Call
from ctxtui.core.canonical import Json
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.session import MAIN, CallSeen, Described, Event, Happened, Outcome, ThreadSeen
from ctxtui.core.tree import Tree
from ctxtui.core.usage import Usage
from ctxtui.transcripts.kit import file_head
from ctxtui.transcripts.kit.dialogue import Dialogue, Ids
from ctxtui.transcripts.kit.fields import as_dicts, as_time, one_line
from ctxtui.transcripts.kit.messages import make_message
from ctxtui.transcripts.kit.readers import LinesReader
from ctxtui.transcripts.kit.records import RawRecord
from ctxtui.transcripts.kit.tasks import value_text
from ctxtui.transcripts.reader import Reader

NAME: Final = "root llm log"
_CONFIGURATION: Final = "config.json"
_ACCOUNT: Final = "cost_tracking.json"
_MATCH_SECONDS: Final = 1.5
"""Seconds within which entries of the account and the log are the same answer."""
_TURN: Final = frozenset({"turn", "role", "content"})
_TRIAL: Final = frozenset({"trial_id", "response"})
_CALIBRATION: Final = "[CALIBRATION]"
_CALIBRATION_THREAD: Final = "calibration"
"""The thread in which the root tests its children."""
_ROOT: Final = ("root_llm", "root")
_CHILDREN: Final = ("child_llm", "child_llms", "child", "children")


def sniff(head: bytes, name: str) -> float:
    first = next(iter(file_head.parse_records(head)), {})
    if first.keys() >= _TURN and first.keys() & {"code_executed", "execution_result"}:
        return 0.95
    if first.keys() >= _TRIAL and first.keys() & {"generation", "metrics", "code"}:
        return 0.9
    return 0.0


class _SearchHandler:
    """Handles the turns of the root model and the trials, from all files of an experiment."""

    def __init__(self, tree: Tree) -> None:
        self.tree, self.ids = tree, Ids()
        self.threads = {MAIN: Dialogue(tree, MAIN, self.ids)}
        self._calls: dict[str, Call] = {}
        self._models: dict[bool, _Model] = {}
        """The configured models of the root (True) and of the children."""
        self._spent: list[tuple[float, Usage]] = []
        """Usage of the root's calls from the experiment's account, with the time of each answer."""
        self._request_times: dict[str, float | None] = {}
        """Time at which a thread's last message was recorded, which is the start of its request."""

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        if value.keys() >= _TRIAL:
            yield from self._handle_trial(value)
        elif "role" in value:
            yield from self._handle_turn(value, source)
        else:
            yield Happened("record", ", ".join(list(value)[:5]))

    def state_events(self) -> Iterator[Event]:
        yield Described(source=NAME, title=self.threads[MAIN].title)
        for dialogue in self.threads.values():
            yield dialogue.tip_event()

    def _handle_turn(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        role, content, time = as_str(value.get("role")), value.get("content"), as_time(value.get("timestamp"))
        text = content if isinstance(content, str) else value_text(content)
        name = _CALIBRATION_THREAD if text.startswith(_CALIBRATION) else MAIN
        if name not in self.threads:
            self.threads[name] = Dialogue(self.tree, name, self.ids)
            yield ThreadSeen(name, name, MAIN)
        dialogue = self.threads[name]
        if role == "assistant":
            span = (source.start, source.end)
            turn: dict[str, Json] = {"turn": value["turn"]} if "turn" in value else {}
            call = Call(
                "",
                "",
                model=as_str(value.get("model")),
                started=self._request_times.pop(name, None),
                ended=time,
                usage=_parse_usage(as_dict(value.get("usage")) or value),
                line=source.line,
                bytes_=span,
                extra=turn,
            )
            yield self._fill_call(dialogue.add_call(make_message("assistant", text), call).call)
        elif value.get("code_executed") is not None:
            # A note of executed code; the model gets the result in the next message.
            result = value_text(value.get("execution_result"))
            self._request_times[name] = time
            yield Happened("code", one_line(f"{value_text(value['code_executed'])} → {result}"), name, time)
        else:
            self._request_times[name] = time
            dialogue.add(make_message(role or "user", text))

    def _handle_trial(self, value: dict[str, Json]) -> Iterator[Event]:
        name = value_text(value.get("trial_id"))
        dialogue = self.threads[name] = Dialogue(self.tree, name, self.ids)
        yield ThreadSeen(name, name, MAIN)
        prompt = value.get("prompt")
        dialogue.add(make_message("user", prompt if isinstance(prompt, str) else value_text(prompt)))
        cost = as_dict(value.get("cost_data"))
        call = Call(
            "",
            "",
            model=as_str(value.get("model")) or as_str(cost.get("model")),
            ended=as_time(value.get("timestamp")),
            usage=_parse_usage(cost),
            extra={key: value[key] for key in ("generation", "parent_id", "metrics") if key in value},
        )
        yield self._fill_call(
            dialogue.add_call(make_message("assistant", value_text(value.get("response"))), call).call
        )
        for key in ("score", "valid", "error"):
            figure = as_dict(value.get("metrics")).get(key)
            if figure is not None:
                yield Outcome(f"{name}: {key}", value_text(figure))

    def _fill_call(self, call: Call) -> CallSeen:
        """Fill fields that a call's record lacks from the configuration and the account."""
        self._calls[call.id] = call
        is_root = call.thread in (MAIN, _CALIBRATION_THREAD)
        model_settings, time = self._models.get(is_root), call.ended
        if is_root and call.usage is None and time is not None and self._spent:
            entry_time, usage = min(self._spent, key=lambda entry: abs(entry[0] - time))
            call = replace(call, usage=usage) if abs(entry_time - time) <= _MATCH_SECONDS else call
        return CallSeen(model_settings.fill(call) if model_settings is not None else call)

    def read_account(self, value: dict[str, Json]) -> Iterator[Event]:
        """Read the usage of the root's calls from the experiment's ``cost_tracking.json``."""
        for entry in as_dicts(value.get("usage_log")):
            time, usage = as_time(entry.get("timestamp")), _parse_usage(entry)
            if as_str(entry.get("llm_type")).startswith("root") and time is not None and usage is not None:
                self._spent.append((time, usage))
        yield from map(self._fill_call, self._calls.values())

    def read_configuration(self, value: dict[str, Json]) -> Iterator[Event]:
        """Read the models and their prices from the experiment's ``config.json``.

        A list of several models gives none.
        """
        for is_root, names in ((True, _ROOT), (False, _CHILDREN)):
            models = next((value[name] for name in names if value.get(name)), None)
            model = as_dict(models[0]) if isinstance(models, list) and len(models) == 1 else as_dict(models)
            if as_str(model.get("model")):
                self._models[is_root] = _Model(
                    as_str(model["model"]),
                    *(as_number(model.get(f"cost_per_million_{way}_tokens")) for way in ("input", "output")),
                )
        yield from map(self._fill_call, self._calls.values())


class _CompanionHandler:
    """Passes the records of a companion file to `handle`."""

    def __init__(self, handle: Callable[[dict[str, Json]], Iterator[Event]]) -> None:
        self._handle = handle

    def record(self, value: dict[str, Json], source: RawRecord) -> Iterator[Event]:
        return self._handle(value)

    def state_events(self) -> Iterator[Event]:
        return iter(())


class _Model(NamedTuple):
    """A model in the experiment's configuration.

    `input` and `output` are its configured prices in USD per million tokens (None: not given).
    """

    id: str
    input: float | None
    output: float | None

    def fill(self, call: Call) -> Call:
        """Set the model, and the cost at the configured prices, of a call whose record lacks them.

        There is no price for the cache, so a usage with cache figures gets no cost.
        """
        usage = call.usage
        if usage and usage.cost is None and not usage.has_cache and self.input is not None and self.output is not None:
            usage = replace(usage, cost=(usage.fresh * self.input + usage.output * self.output) / 1e6)
        return replace(call, model=call.model or self.id, usage=usage)


def _parse_usage(cost: dict[str, Json]) -> Usage | None:
    """Convert a record's token counts; the input excludes the cache."""
    if not isinstance(cost.get("input_tokens"), int | float):
        return None
    read = as_count(cost.get("cache_read_input_tokens", cost.get("cache_read_tokens")))
    written = as_count(cost.get("cache_creation_input_tokens", cost.get("cache_creation_tokens")))
    spent = next((as_number(cost[key]) for key in ("total_cost", "cost", "cost_usd") if key in cost), None)
    return Usage(
        fresh=as_count(cost.get("input_tokens")),
        cache_read=read,
        write_5m=written,
        output=as_count(cost.get("output_tokens")),
        has_cache=any(key.startswith("cache_") for key in cost),
        cost=spent,
    )


class _RootLogReader(LinesReader):
    """Reads the log or a trial; `part` makes readers for the experiment's other files."""

    def __init__(self, tree: Tree) -> None:
        self._search = _SearchHandler(tree)
        super().__init__(self._search)

    def part(self, name: str) -> Reader:
        handle = {_CONFIGURATION: self._search.read_configuration, _ACCOUNT: self._search.read_account}.get(name)
        return LinesReader(_CompanionHandler(handle) if handle is not None else self._search)


reader = _RootLogReader

"""Two writers on one session, in any interleaving: what each was told is in the file is found once, and in order."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ctxtui.core.block import Item
from ctxtui.core.session import MAIN, CallSeen, Happened, Session
from ctxtui.store.schema.connect import connect
from ctxtui.store.sessions.in_flight import pending_events
from ctxtui.store.store import Store
from ctxtui.store.writer import InFlight, Writer
from tests.store.test_writer import begun, call, gone_on, item, put, say, writing

ALL = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
Step = Literal["said", "heard", "draft", "call", "branch", "happened", "wait", "again"]
STEPS: list[Step] = ["said", "heard", "draft", "call", "branch", "happened", "wait", "again"]


@dataclass
class Half:
    """One of the two: its session, its writer, and what it wrote."""

    name: str
    path: Path
    count: int = 0
    calls: list[tuple[str, list[Item], list[Item]]] = field(default_factory=list)
    happened: list[str] = field(default_factory=list)
    flight: list[str] = field(default_factory=list)
    draft: list[str] = field(default_factory=list)
    session: Session = field(init=False)
    writer: Writer = field(init=False)

    left: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    """What is in flight, and the draft, of each writer it had, by token."""

    def __post_init__(self) -> None:
        self._go_on()

    def _go_on(self) -> None:
        self.session, self.writer = gone_on(self.path)
        # It is there from now on: what the other one leaves when it ends is not taken for what is left by the killed.
        assert self.writer.wait(10)

    def do(self, step: Step) -> None:
        self.count += 1
        words = f"{self.name} {step} {self.count}"
        match step:
            case "said" | "heard":
                self.flight.append(words)
                self.writer.put(InFlight("", 1.0, step, words))
            case "draft":
                self.draft = [words]
                self.writer.put(InFlight("", 1.0, "draft", words))
            case "call" | "branch":
                self._call(words, branch=step == "branch")
            case "happened":
                self.happened.append(words)
                put(self.writer, self.session, Happened("note", words, MAIN, 5.0, ""))
            case "wait":
                assert self.writer.wait(10) and self.writer.trouble is None
            case "again":
                # It ends and goes on: with what the other one had written by then.
                self.close()
                self.flight, self.draft = [], []
                self._go_on()

    def _call(self, words: str, *, branch: bool) -> None:
        tree = self.session.tree
        first = next(iter(self.session.calls.values())).raw_head
        raw = tree.extend(first if branch else self.session.threads[MAIN].tip, [item(words)])
        answer = tree.extend(raw, [item(f"{words} heard", "assistant")])
        id_ = f"{self.name}.{self.count}"
        put(self.writer, self.session, CallSeen(call(self.count, raw, answer, id=id_)), answer)
        self.calls.append((id_, tree.items(raw), tree.items(answer)))
        self.flight = []

    def close(self) -> None:
        assert self.writer.close(20) and self.writer.trouble is None
        self.left[self.writer.host.token] = (self.flight, self.draft)

    def check(self, events: list[tuple[str, str, str]]) -> None:
        for token, (flight, draft) in self.left.items():
            mine = [(kind, data) for host, kind, data in events if host == token]
            assert [data for kind, data in mine if kind != "draft"] == flight
            assert [data for kind, data in mine if kind == "draft"] == draft


@settings(max_examples=300 if ALL else 12, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from(STEPS)), min_size=1, max_size=30))
@example([(True, "call"), (True, "wait"), (False, "call"), (False, "wait"), (True, "call")])
@example([(True, "said"), (False, "heard"), (True, "wait"), (False, "call"), (False, "again"), (True, "call")])
def test_what_two_write_is_found_once_and_in_order(tmp_path_factory: Any, steps: list[tuple[bool, Step]]) -> None:
    path, base = tmp_path_factory.mktemp("two") / "s.db", begun()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ctxtui.store.writer.GATHER_S", 0.001)
        with writing(path, base) as writer:
            say(base, writer, "base", 0, "base.0")
        a, b = Half("a", path), Half("b", path)
        for first, step in steps:
            (a if first else b).do(step)
        a.close()
        b.close()
    with Store.open(path) as store:
        back, row = store.load("live-1"), store.session("live-1")
    events = [(one.host, one.kind, str(one.data)) for one in pending_events(path, "live-1")]
    with closing(connect(path, readonly=True)) as conn:
        for table, group in (("calls", "thread, number"), ("calls", "session, nth"), ("happenings", "session, nth")):
            twice = conn.execute(f"SELECT {group} FROM {table} GROUP BY {group} HAVING count(*) > 1")
            assert not twice.fetchall()
    for one in (a, b):
        one.check(events)
        said = [
            (id_, back.tree.items(call.raw_head), back.tree.items(call.response_head))
            for id_, call in back.calls.items()
            if id_.startswith(f"{one.name}.")
        ]
        assert said == one.calls
        assert [each.text for each in back.happenings if each.text.startswith(f"{one.name} ")] == one.happened
    assert len(back.calls) == row.calls == 1 + len(a.calls) + len(b.calls)
    assert len(back.happenings) == len(a.happened) + len(b.happened)

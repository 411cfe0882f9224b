"""What would follow a context that grows: the figure of a moment ago until the new one is there, and then that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ctxtui.core import block as blocks
from ctxtui.core.block import Item, Place
from ctxtui.core.session import TipMoved
from ctxtui.curation.price.dependence import Literals
from ctxtui.services.editing.next_request import PricedRequest
from ctxtui.services.editing.staging import StagingArea
from ctxtui.services.study.study import Study
from tests.services.editing.test_staging import Table, at_once, talk


class Later:
    """A worker that does what is wanted when it is told to."""

    def __init__(self) -> None:
        self.wanted: list[Callable[[], None]] = []

    def __call__(self, load: Callable[[], None]) -> None:
        self.wanted.append(load)

    def work(self) -> None:
        wanted, self.wanted = self.wanted, []
        for one in wanted:
            one()


def say(table: Table, text: str) -> None:
    """A message that no call has read yet."""
    session, thread = table.study.session, table.scene.thread
    head = session.tree.extend(
        table.scene.tip,
        [
            Item(blocks.header("user"), Place("messages", "user")),
            Item(blocks.text(text), Place("messages", "user")),
        ],
    )
    moved = TipMoved(thread, head)
    session.apply(moved)
    table.study.session_grew([moved])
    while table.study.work():
        pass


def anew(table: Table) -> PricedRequest:
    """What a desk finds that has asked nothing before."""
    desk = StagingArea(table.study, table.overlays)
    found = desk.next_call(table.scene, at_once) or desk.next_call(table.scene, at_once)
    assert found is not None
    return found


def test_the_figure_of_a_moment_ago_says_that_it_is() -> None:
    table, later = talk(6), Later()
    first = table.desk.next_call(table.scene, at_once) or table.desk.next_call(table.scene, at_once)
    assert first is not None and not first.forecast.outdated
    say(table, "and then? src/app/main_window.py")
    assert table.desk.next_call(table.scene, later) is None
    earlier = table.desk.earlier_call(table.scene)
    assert earlier is not None and earlier.forecast.outdated and earlier.forecast.input == first.forecast.input
    later.work()
    now = table.desk.next_call(table.scene, later)
    assert now is not None and not now.forecast.outdated and now.forecast.input > first.forecast.input
    assert now.forecast == anew(table).forecast


def test_a_call_that_came_has_no_figure_of_the_one_before() -> None:
    table, later = talk(6), Later()
    table.call = 3
    assert table.desk.next_call(table.scene, at_once) or table.desk.next_call(table.scene, at_once)
    table.call = 4
    assert table.desk.next_call(table.scene, later) is None and table.desk.earlier_call(table.scene) is None


def test_only_the_newest_of_many_questions_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table, later = talk(6), Later()
    for number in range(5):
        say(table, f"message {number} of tests/test_{number:04}.py")
        assert table.desk.next_call(table.scene, later) is None
    assert len(later.wanted) == 5
    asked: list[Study] = []
    plain = Study.count_all

    def count_all(study: Study) -> None:
        asked.append(study)
        plain(study)

    monkeypatch.setattr(Study, "count_all", count_all)
    later.work()
    assert len(asked) == 1
    found = table.desk.next_call(table.scene, later)
    assert found is not None and found.forecast == anew(table).forecast


def test_literals_that_grew_with_the_context_are_those_read_at_once() -> None:
    table = talk(6)
    for number in range(4):
        assert table.desk.next_call(table.scene, at_once) or table.desk.next_call(table.scene, at_once)
        say(table, f"message {number} of tests/test_0001.py and src/part_{number:04}.py")
    assert table.desk.next_call(table.scene, at_once) or table.desk.next_call(table.scene, at_once)
    grown, fresh = table.desk.literals, Literals(table.desk.context(table.scene))
    fresh.advance()
    assert grown is not None and grown.is_complete and grown.count == fresh.count
    assert grown.repeated == fresh.repeated
    for position in range(fresh.count):
        assert grown.literals_at(position) == fresh.literals_at(position)
        assert all(grown.positions(one) == fresh.positions(one) for one in fresh.literals_at(position))

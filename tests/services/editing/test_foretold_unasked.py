"""When the next request is worked out before anybody asks for it."""

from __future__ import annotations

import pytest

from ctxtui.core.session import MAIN
from ctxtui.services.editing import next_request_cache
from ctxtui.services.editing.next_request_cache import should_forecast_ahead
from tests.services.editing.test_staging import at_once, talk

DAYS = 86_400.0


def test_that_of_a_short_context_always_is() -> None:
    table = talk(3)
    assert should_forecast_ahead(table.study.book, table.scene, (table.scene.call.ended or 0.0) + 100 * DAYS)


def test_that_of_a_long_one_only_while_anything_may_be_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_request_cache, "LONG_CONTEXT_BLOCKS", 2)
    table = talk(3)
    for index in range(len(table.study.thread(MAIN).calls)):
        scene = table.study.scene(MAIN, index)
        found = table.desk.next_call(scene, at_once)
        if found is None:
            found = table.desk.next_call(scene, at_once)
        assert found is not None and found.forecast.expires is not None
        assert should_forecast_ahead(table.study.book, scene, found.forecast.expires - 0.001), (
            "it would have been shown"
        )
        assert not should_forecast_ahead(table.study.book, scene, found.forecast.expires + DAYS)

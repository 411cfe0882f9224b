"""`ctxtui hold`: which held request is meant, and what is refused before anything is decided."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.cli.agent.hold import find_held
from ctxtui.core.errors import NotFound, Several
from tests.cli.conftest import Run

RUNS: list[tuple[str, dict[str, Any]]] = [
    ("r", {"held": [{"id": "r.1"}, {"id": "r.10"}]}),
    ("s", {"held": [{"id": "s.1"}]}),
]


def test_an_exact_id_wins_over_longer_ones() -> None:
    assert [find_held(RUNS, id_)["id"] for id_ in ("r.1", "r.10", "s")] == ["r.1", "r.10", "s.1"]
    for id_, error in (("r", Several), ("", Several), ("t", NotFound)):
        with pytest.raises(error):
            find_held(RUNS, id_)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("release", "--over-usd", "1"), "rules such as --over-usd need `on`"),
        (("show", "--on-miss"), "rules such as --over-usd need `on`"),
        (("on", "r.1"), "needs no ID"),
        (("off", "r.1"), "needs no ID"),
        (("list", "r.1"), "needs no ID"),
    ],
)
def test_what_would_have_no_effect_is_refused(ctxtui: Run, arguments: tuple[str, ...], reason: str) -> None:
    ran = ctxtui("hold", *arguments)
    assert ran.code == 2 and reason in ran.err

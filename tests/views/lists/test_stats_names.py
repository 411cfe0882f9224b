"""Names of the stats' rows where there is little room: what tells them apart stays."""

from __future__ import annotations

from typing import Any

import pytest

from ctxtui.analysis.money.usage_stats import UsageSums
from ctxtui.views.lists.costs.stats import table
from ctxtui.views.text import cells
from ctxtui.views.text.span import plain


@pytest.mark.parametrize(
    "names",
    [
        ["claude-opus-4-20250514", "claude-sonnet-4-20250514", "claude-opus-4-5-20251101", "claude-opus-4-5"],
        ["/Users/ada/work/shop", "/Users/ada/work/shop/api", "/Users/ada/work/depot"],
    ],
)
@pytest.mark.parametrize("room", [66, 80, 120])
def test_rows_of_other_names_look_otherwise(names: list[str], room: int) -> None:
    made = table("model")
    drawn = [plain(made.draw(UsageSums(name=name, calls=1), room)) for name in names]
    assert len(set(drawn)) == len(names) and all(cells.width(line) <= room for line in drawn)


def test_a_folder_ends_as_it_ends() -> None:
    drawn = plain(table("project").draw(UsageSums(name="/Users/somebody/projects/handy-cli", calls=1), 80))
    assert drawn.strip().startswith("…") and "/handy-cli" in drawn


def test_a_loss_without_a_price_is_not_nothing() -> None:
    made = table("model")

    def lost(**known: Any) -> list[str]:
        return plain(made.draw(UsageSums(name="m", calls=9, **known), 120)).split()

    assert "unknown" in lost(misses=2, unpriced_misses=2, usd=1.0)
    assert "≥$1.25" in lost(misses=3, unpriced_misses=2, lost=1.25, usd=2.0)
    assert "$1.25" in lost(misses=1, lost=1.25, usd=2.0)
    assert "unknown" not in lost(usd=2.0)

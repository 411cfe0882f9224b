"""Sums of usages."""

from __future__ import annotations

import pytest

from ctxtui.core.usage import Usage


@pytest.mark.parametrize(("reported", "in_sum"), [((), False), ((False, False), False), ((False, True), True)])
def test_a_sum_has_cache_figures_if_one_of_its_parts_has(reported: tuple[bool, ...], in_sum: bool) -> None:
    total = sum((Usage(fresh=10, has_cache=one, cost=0.5) for one in reported), Usage.nothing())
    assert total == Usage(fresh=10 * len(reported), has_cache=in_sum, cost=0.5 * len(reported))

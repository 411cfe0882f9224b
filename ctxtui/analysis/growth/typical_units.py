"""How turns and rounds of other sessions were, learnt from the recordings of all sources: what
``python -m benchmarks.preflight`` prints (there each source is foretold by the others alone)."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.growth.units_ahead import Typical

_GROWTH: Final = (
    -0.61, -0.52, -0.47, -0.42, -0.35, -0.31, -0.24, -0.18, -0.1, -0.04,
    0.05, 0.16, 0.26, 0.36, 0.51, 0.67, 0.87, 1.31, 2.1,
)  # fmt: skip
_COST: Final = (
    -0.57, -0.46, -0.42, -0.38, -0.34, -0.29, -0.23, -0.18, -0.09, -0.03,
    0.03, 0.1, 0.16, 0.26, 0.35, 0.5, 0.63, 0.86, 1.73,
)  # fmt: skip

GROWTH_OF_ROUNDS: Final = Typical(451.0, _GROWTH)
GROWTH_OF_TURNS: Final = Typical(4_209.0, _GROWTH)
COST: Final = Typical(0.0, _COST)
"""Of what a turn costs with the context that lies ahead; prices differ too much for a typical one."""

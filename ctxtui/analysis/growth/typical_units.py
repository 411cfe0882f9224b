"""How turns and rounds of other sessions were, learnt from the recordings of all sources: what
``python -m benchmarks.preflight`` prints (there each source is foretold by the others alone)."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.growth.units_ahead import Typical

_GROWTH: Final = (
    -0.76, -0.6, -0.53, -0.48, -0.43, -0.33, -0.26, -0.17, -0.1, -0.03,
    0.04, 0.14, 0.26, 0.4, 0.59, 0.8, 1.12, 1.57, 2.73,
)  # fmt: skip
_COST: Final = (
    -0.58, -0.46, -0.42, -0.38, -0.34, -0.29, -0.23, -0.18, -0.1, -0.04,
    0.03, 0.1, 0.15, 0.26, 0.35, 0.5, 0.63, 0.86, 1.73,
)  # fmt: skip

GROWTH_OF_ROUNDS: Final = Typical(451.0, _GROWTH)
GROWTH_OF_TURNS: Final = Typical(4_283.0, _GROWTH)
COST: Final = Typical(0.0, _COST)
"""Of what a turn costs with the context that lies ahead; prices differ too much for a typical one."""

"""How turns and rounds of other sessions were, learnt from the recordings of all sources: what
``python -m benchmarks.preflight`` prints (there each source is foretold by the others alone)."""

from __future__ import annotations

from typing import Final

from ctxtui.analysis.growth.units_ahead import Typical

_GROWTH: Final = (
    -0.62, -0.53, -0.47, -0.43, -0.36, -0.32, -0.24, -0.18, -0.09, -0.04,
    0.04, 0.15, 0.25, 0.35, 0.49, 0.66, 0.86, 1.31, 2.25,
)  # fmt: skip
_COST: Final = (
    -0.51, -0.44, -0.41, -0.37, -0.32, -0.27, -0.21, -0.15, -0.09, -0.03,
    0.03, 0.1, 0.16, 0.26, 0.35, 0.48, 0.61, 0.82, 1.47,
)  # fmt: skip

GROWTH_OF_ROUNDS: Final = Typical(451.0, _GROWTH)
GROWTH_OF_TURNS: Final = Typical(4_283.0, _GROWTH)
COST: Final = Typical(0.0, _COST)
"""Of what a turn costs with the context that lies ahead; prices differ too much for a typical one."""

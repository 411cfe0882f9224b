"""Every oddity of Codex rollouts, as small scripts."""

from tests.cases.codex_odd import files
from tests.cases.codex_odd.turns import ODDITIES

__all__ = ["ODDITIES", "files"]

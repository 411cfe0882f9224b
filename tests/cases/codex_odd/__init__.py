"""Every oddity of Codex rollouts, as small scripts."""

from tests.cases.codex_odd import current, files
from tests.cases.codex_odd.turns import ODDITIES

__all__ = ["ODDITIES", "current", "files"]

"""Every oddity of Claude Code's files, as small scripts: each function writes one file and says what is odd in it."""

from tests.cases.claude_code_odd import chains, client, damage, epochs
from tests.cases.claude_code_odd.client import files_of_one_session
from tests.cases.claude_code_odd.table import ODDITIES

__all__ = ["ODDITIES", "chains", "client", "damage", "epochs", "files_of_one_session"]

"""The programs that ctxtui can be put around, by the name of their command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Final

from ctxtui.core.errors import NotFound
from ctxtui.services.attach.program import Program
from ctxtui.services.attach.programs import any_program, claude_code, codex, opencode, pi

PROGRAMS: Final[tuple[Program, ...]] = (
    claude_code.PROGRAM,
    codex.PROGRAM,
    opencode.PROGRAM,
    pi.PROGRAM,
    any_program.LLM,
    any_program.AIDER,
    any_program.MINI_SWE_AGENT,
    any_program.PROGRAM,
)
"""Every one, the one for all others last."""

_RUNNERS: Final = frozenset(
    {"npx", "bunx", "uvx", "pnpm", "yarn", "dlx", "exec", "run", "env", "nice", "time", "stdbuf"}
)
"""Words in front of the program that is meant."""


def program_of(command: Sequence[str], name: str = "") -> Program:
    """The program that `command` runs, or the one called `name`. Raises `NotFound` for a name that none has."""
    if name:
        found = next((one for one in PROGRAMS if one.name == name), None)
        if found is None:
            names = ", ".join(one.name for one in PROGRAMS)
            raise NotFound(f"no program is called {name!r} here", place="--as", way_out=f"there are {names}")
        return found
    for word in command:
        base = PurePath(word).name.partition("@")[0] or word.rpartition("/")[2]
        known = next((one for one in PROGRAMS if base in one.commands), None)
        if known is not None:
            return known
        if base not in _RUNNERS and not word.startswith("-") and "=" not in word:
            break
    return PROGRAMS[-1]

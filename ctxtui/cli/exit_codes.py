"""The one table of exit codes, which scripts can rely on, and how a broken screen reaches the outermost boundary."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core.errors import BadConfig, BadPattern, CtxtuiError, Malformed, NoContext, NotFound, Several, Unreadable


class ExitCode(NamedTuple):
    """A way to end: its number, a short name (the `kind` of a JSON error) and what it means."""

    number: int
    name: str
    meaning: str
    errors: tuple[type[CtxtuiError], ...] = ()


class WrongUse(CtxtuiError):
    """What was asked for cannot be done in this place: the screen in a pipe, for one."""


OK: Final = ExitCode(0, "ok", "done; skipped lines, if any, are listed")
UNEXPECTED: Final = ExitCode(
    1,
    "unexpected",
    "a fault in ctxtui: the message names the log file; of `search`, silent: nothing found; of `diff`: they differ",
)
USAGE: Final = ExitCode(
    2, "usage", "a wrong option, argument or setting; no terminal for the screen", (BadConfig, BadPattern, WrongUse)
)
NO_CONTEXT: Final = ExitCode(3, "no context", "readable, but it holds no model context: says what it is", (NoContext,))
UNREADABLE: Final = ExitCode(4, "unreadable", "no permission, or the file is damaged", (Unreadable, Malformed))
NOT_FOUND: Final = ExitCode(5, "not found", "no such file, session, call, thread or model", (NotFound,))
SEVERAL: Final = ExitCode(6, "several", "the name fits several sessions: they are listed", (Several,))
REFUSED: Final = ExitCode(7, "refused", "everything was understood, but doing it would lose or break something")
FAILED: Final = ExitCode(
    8,
    "failed",
    "`ctxtui doctor` found something that does not work, `ctxtui check` a limit that does not hold; `ctxtui run` used "
    "up its rounds",
)
UNKNOWN: Final = ExitCode(9, "unknown", "of `ctxtui check`: no limit is broken, but one cannot be told")
FAULT: Final = ExitCode(70, "fault", "a fault in ctxtui while it ran `search` or `diff`, whose 1 is an answer")
ATTACHING: Final = ExitCode(
    125, "attaching", "of `ctxtui exec`: ctxtui itself failed; every other code is that of the program it ran"
)
INTERRUPTED: Final = ExitCode(130, "interrupted", "ended by ctrl+c")
CLOSED_PIPE: Final = ExitCode(141, "closed pipe", "the reader of the output went away: nothing is printed")

EXIT_CODES: Final = (
    OK, UNEXPECTED, USAGE, NO_CONTEXT, UNREADABLE, NOT_FOUND, SEVERAL, REFUSED, FAILED, UNKNOWN, FAULT, ATTACHING,
    INTERRUPTED, CLOSED_PIPE,
)  # fmt: skip


ANSWERING: Final = frozenset({"diff", "search"})
"""Commands whose exit code 1 is an answer, as with the programs they are named after."""

AROUND: Final = "exec"
"""The command whose exit code is that of a program it runs."""


def code_for(error: CtxtuiError) -> ExitCode:
    """The exit code of an error that was raised on purpose; the most specific class wins."""
    for kind in type(error).__mro__:
        for code in EXIT_CODES:
            if kind in code.errors:
                return code
    return REFUSED


def table() -> str:
    """The table as `ctxtui help exit-codes` prints it."""
    return "\n".join(f"{code.number:>4}  {code.name:<12} {code.meaning}" for code in EXIT_CODES)


class ScreenCrash(Exception):
    """The screen broke by `cause` while `session` ("" for none) was open; the terminal is restored already."""

    def __init__(self, cause: BaseException, session: str) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.session = session

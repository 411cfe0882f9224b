"""Exit codes, a stable interface for scripts, and errors of the command line."""

from __future__ import annotations

from typing import Final, NamedTuple

from ctxtui.core.errors import BadConfig, BadPattern, CtxtuiError, Malformed, NoContext, NotFound, Several, Unreadable


class ExitCode(NamedTuple):
    """An exit code, the ``kind`` of its JSON error (`name`), and the errors that end with it."""

    number: int
    name: str
    meaning: str
    errors: tuple[type[CtxtuiError], ...] = ()


class WrongUse(CtxtuiError):
    """Wrong options or arguments, or a command that cannot run here (the screen in a pipe)."""


OK: Final = ExitCode(0, "ok", "done; skipped lines, if any, are listed")
UNEXPECTED: Final = ExitCode(
    1,
    "unexpected",
    "an error in ctxtui: the message names the log file; `search`: nothing found; `diff`: the contexts differ",
)
USAGE: Final = ExitCode(
    2, "usage", "a wrong option, argument or setting; no terminal for the screen", (BadConfig, BadPattern, WrongUse)
)
NO_CONTEXT: Final = ExitCode(
    3, "no context", "readable, but without model context: the message says what it is", (NoContext,)
)
UNREADABLE: Final = ExitCode(4, "unreadable", "no permission, or a damaged or invalid file", (Unreadable, Malformed))
NOT_FOUND: Final = ExitCode(5, "not found", "no such file, session, call, thread, model or the like", (NotFound,))
SEVERAL: Final = ExitCode(6, "several", "the name matches several sessions, blocks or requests", (Several,))
REFUSED: Final = ExitCode(
    7, "refused", "not done: it would lose or break something, or a file, a provider, a server or a budget prevented it"
)
FAILED: Final = ExitCode(
    8,
    "failed",
    "`ctxtui doctor` found a problem, `ctxtui check` or `ctxtui mcp size` a broken limit, `ctxtui edits stage` staged "
    "none of the named blocks, or `ctxtui run` used up its rounds",
)
UNKNOWN: Final = ExitCode(9, "unknown", "`ctxtui check`: no limit is broken, but one cannot be checked")
FAULT: Final = ExitCode(70, "fault", "an error in ctxtui during `search` or `diff`, whose code 1 is a result")
ATTACHING: Final = ExitCode(
    125,
    "attaching",
    "`ctxtui exec`: ctxtui itself failed; 126, 127: the program cannot be run; else its own code",
)
INTERRUPTED: Final = ExitCode(130, "interrupted", "ended by ctrl+c")
CLOSED_PIPE: Final = ExitCode(141, "closed pipe", "the reader of the output closed the pipe; no error is printed")

EXIT_CODES: Final = (
    OK, UNEXPECTED, USAGE, NO_CONTEXT, UNREADABLE, NOT_FOUND, SEVERAL, REFUSED, FAILED, UNKNOWN, FAULT, ATTACHING,
    INTERRUPTED, CLOSED_PIPE,
)  # fmt: skip

COMMANDS_WITH_RESULT_1: Final = frozenset({"diff", "search"})
"""Commands whose exit code 1 is a result, as for grep and diff."""

EXEC_COMMAND: Final = "exec"


def code_for(error: CtxtuiError) -> ExitCode:
    """The exit code of an error: by its most specific class, else `REFUSED`."""
    for kind in type(error).__mro__:
        for code in EXIT_CODES:
            if kind in code.errors:
                return code
    return REFUSED


def table() -> str:
    """The text of `ctxtui help exit-codes`."""
    return "\n".join(f"{code.number:>4}  {code.name:<12} {code.meaning}" for code in EXIT_CODES)


class ScreenCrash(Exception):
    """The screen crashed by `cause` while `session` ("": none) was open."""

    def __init__(self, cause: BaseException, session: str) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.session = session

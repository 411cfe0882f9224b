"""One run of the program: from arguments to an exit code, all errors handled."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from ctxtui.cli import exit_codes
from ctxtui.cli.agent.statusline import print_line
from ctxtui.cli.commands import ENTRIES, OLD_NAMES
from ctxtui.cli.exit_codes import ScreenCrash
from ctxtui.cli.output import note, report_error
from ctxtui.core.errors import CtxtuiError

if TYPE_CHECKING:
    from typing_extensions import Buffer

REPORT_IT: Final = "please report it: `ctxtui report-bug` writes a file without content to attach"


def run(arguments: Sequence[str]) -> int:
    """Run the command line `arguments` (without the program's name); return the exit code.

    An error becomes one line on standard error, with ``--json`` also JSON on standard output; an
    unexpected error is written to a log file whose name is printed.
    """
    output = _prepare_streams()
    _make_streams_tolerant()
    number = exit_codes.OK.number
    try:
        number = _run_guarded(arguments, "--json" in _own_arguments(arguments))
        sys.stdout.flush()
    except BrokenPipeError as error:
        return report_lost_output(error)
    except OSError:
        if output is None or output.failed is None:
            raise
    if output is not None and output.failed is not None:
        return report_lost_output(output.failed, number)
    return number


def _run_guarded(arguments: Sequence[str], as_json: bool) -> int:
    try:
        return _dispatch(arguments, as_json)
    except (BrokenPipeError, OutputLost):
        raise
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED.number
    except Exception as error:  # noqa: BLE001 - the program's outermost boundary: logged, named, exit 1
        return _report_unexpected(error, arguments, as_json)


def _dispatch(arguments: Sequence[str], as_json: bool) -> int:
    try:
        if _is_open_request(arguments):
            # A fast path to the first frame, without click.
            from ctxtui.cli.manage.start_screen import open_screen

            return open_screen(arguments[0] if arguments else None)
        if list(arguments) == ["statusline"]:
            # Clients run it after every message, so it skips click too.
            return print_line()
        from ctxtui.cli.group import run_command

        result = run_command(arguments)
        sys.stdout.flush()
        return result
    except CtxtuiError as error:
        code = (
            exit_codes.ATTACHING if _find_command(arguments) == exit_codes.EXEC_COMMAND else exit_codes.code_for(error)
        )
        return report_error(code, error.message, place=error.place, way_out=error.way_out, as_json=as_json)
    finally:
        _note_plugin_failures()


def _find_command(arguments: Sequence[str]) -> str:
    return next((word for word in arguments if word in ENTRIES), "")


def _own_arguments(arguments: Sequence[str]) -> Sequence[str]:
    """All arguments; of `exec` only those before ``--``, which are not the program's."""
    if _find_command(arguments) != exit_codes.EXEC_COMMAND or "--" not in arguments:
        return arguments
    return arguments[: list(arguments).index("--")]


def _note_plugin_failures() -> None:
    loaded = sys.modules.get("ctxtui.services.config.plugins")
    for place, trouble in loaded.troubles() if loaded else ():
        note(f"{place}: {trouble}; it is ignored")


def _is_open_request(arguments: Sequence[str]) -> bool:
    """Whether to open a screen: Home without arguments, or the recording that the one names."""
    if len(arguments) > 1 or "_CTXTUI_COMPLETE" in os.environ:
        return False
    return all(
        word == "-" or (not word.startswith("-") and word not in ENTRIES and word not in OLD_NAMES)
        for word in arguments
    )


def _report_unexpected(error: BaseException, arguments: Sequence[str], as_json: bool) -> int:
    from ctxtui.services.config.crash_log import write_crash

    session, cause = "", error
    if isinstance(error, ScreenCrash):
        session, cause = error.session, error.cause
    try:
        place = str(write_crash(cause, arguments, session=session))
    except OSError as trouble:
        place = f"no log file could be written: {trouble}"
    where = f" in {session}" if session else ""
    message = f"unexpected {type(cause).__name__}{where}: {cause}"
    command = _find_command(arguments)
    code = exit_codes.FAULT if command in exit_codes.COMMANDS_WITH_RESULT_1 else exit_codes.UNEXPECTED
    code = exit_codes.ATTACHING if command == exit_codes.EXEC_COMMAND else code
    return report_error(code, message, place=place, way_out=REPORT_IT, as_json=as_json)


class OutputLost(OSError):
    """Standard output could not be written (not: a closed pipe)."""


class _Output(io.FileIO):
    """Standard output that remembers its first write error, which the layers above may lose.

    A closed pipe is not remembered.
    """

    failed: OSError | None = None

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.failed = self.failed or error
            raise OutputLost(error.errno, error.strerror) from error


def _prepare_streams() -> _Output | None:
    """Open closed standard streams, and replace standard output by one that remembers errors.

    A file opened later would get the number of a closed stream. Returns None if the caller of `run` has replaced
    standard output.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - stays open
    if sys.stdout is not None and sys.stdout is not sys.__stdout__:
        return None
    original = sys.stdout
    # A closed output is replaced by a file opened for reading, so that writes fail as they should.
    number = original.fileno() if original is not None else os.open(os.devnull, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    output = _Output(number, "w", closefd=False)
    lines = original is not None and original.line_buffering
    encoding = original.encoding if original is not None else "utf-8"
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(output), encoding=encoding, line_buffering=lines)
    return output


def _make_streams_tolerant() -> None:
    # A terminal that is not UTF-8, or a lone surrogate in a recording, must not end in a traceback.
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def report_lost_output(error: OSError, number: int = 0) -> int:
    """Discard buffered output; return the exit code.

    The loss is reported unless a pipe was closed or the command already failed (`number`).
    """
    _discard_output()
    if isinstance(error, BrokenPipeError):
        return exit_codes.CLOSED_PIPE.number
    message = f"the output cannot be written: {error.strerror or error}"
    return number or report_error(exit_codes.REFUSED, message, way_out="the output is incomplete")


def _discard_output() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # standard output is not a file, so nothing is flushed to a pipe
    finally:
        os.close(nowhere)

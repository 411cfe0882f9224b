"""The command line: one module per command, plain and JSON output, exit codes."""

from __future__ import annotations

import gc
import os
import sys

from ctxtui import NEEDS_POSIX, __version__


def main() -> None:
    """Run `ctxtui` and exit with its code; plain `--help` and `--version` need few imports."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        text = f"ctxtui {__version__}\n"
    elif arguments in (["--help"], ["-h"]):
        from ctxtui.cli.commands import help_text

        text = help_text()
    elif os.name != "posix":
        from ctxtui.cli.exit_codes import USAGE
        from ctxtui.cli.output import report_error

        message, way_out = NEEDS_POSIX
        sys.exit(report_error(USAGE, message, way_out=way_out, as_json="--json" in arguments))
    else:
        # A session has many long-lived objects; default collection would take a tenth of the time.
        gc.set_threshold(20_000, 20, 100)
        from ctxtui.cli.run import run

        sys.exit(run(arguments))
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        from ctxtui.cli.run import report_lost_output

        sys.exit(report_lost_output(error))

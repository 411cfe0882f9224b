"""`ctxtui statusline`: context, next price, cache lifetime and one warning for a client."""

from __future__ import annotations

import os
import sys
from typing import Final

from ctxtui.analysis.money.status_line import find_warning
from ctxtui.cli.output import note, write, write_json
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.attach.status_line import build_status, parse_input, price_call
from ctxtui.services.config.config import load
from ctxtui.services.config.settings import Settings
from ctxtui.services.library.totals.client_quotas import store_reports
from ctxtui.views.text.status_line import describe_warning, line

_ANSI: Final = {"bold": "1", "dim": "2", "warn": "33", "crit": "31", "readtx": "36"}
"""Loading the full palette would take too long."""
_ASCII: Final = str.maketrans({"≈": "~", "·": "|", "▲": "!"})


def print_line(settings: Settings | None = None, *, as_json: bool = False) -> int:
    """Print the line for the client's JSON on standard input."""
    if sys.stdin.isatty():
        raise CtxtuiError("standard input must be the JSON of a client", way_out=INSTALL_HINT)
    client_state = parse_input(sys.stdin.read())
    settings = settings or load().settings
    status = build_status(client_state, settings)
    store_reports(client_state, settings, status.at)
    usage = status.predict_next()
    usd, expired_usd = (
        price_call(next_usage, client_state, settings) for next_usage in (usage, status.predict_next(cold=True))
    )
    warning = find_warning(status, expired_usd)
    if as_json:
        write_json(
            {
                "context_tokens": status.context,
                "usable": status.usable or None,
                "next_usd": usd,
                "next_usd_cold": expired_usd,
                "cache_seconds": status.seconds_left,
                "warning": {"kind": warning.kind, "text": describe_warning(warning)} if warning is not None else None,
            }
        )
        return 0
    colour = not os.environ.get("NO_COLOR")
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8" or settings.glyphs == "ascii"
    parts = []
    for text, style in line(status, usd, warning):
        codes = ";".join(_ANSI[word] for word in style.split() if word in _ANSI) if colour else ""
        printed = text.translate(_ASCII) if plain else text
        parts.append(f"\x1b[{codes}m{printed}\x1b[0m" if codes else printed)
    write("".join(parts))
    return 0


INSTALL_HINT: Final = "`ctxtui statusline install` adds it to Claude Code"


def install(settings: Settings, *, replace: bool, as_json: bool) -> int:
    from ctxtui.services.attach import status_install

    file = status_install.settings_file()
    change = status_install.install(file, replace=replace, setting=settings.data_dir)
    if as_json:
        backup = str(change.backup) if change is not None and change.backup is not None else None
        write_json({"file": str(file), "installed": True, "changed": change is not None, "backup": backup})
        return 0
    if change is None:
        note(f"already installed: {file}")
        return 0
    note(f"written: {file}; `ctxtui statusline remove` removes it")
    if change.backup is not None:
        note(f"backup: {change.backup}")
    return 0


def remove(settings: Settings, *, as_json: bool) -> int:
    """Remove the line from every file it was added to, and from the user's own settings."""
    from ctxtui.services.attach import status_install

    file = status_install.settings_file()
    files = status_install.remove_everywhere(settings.data_dir)
    if file not in files and status_install.remove(file, setting=settings.data_dir) is not None:
        files.append(file)
    if as_json:
        write_json({"removed": [str(path) for path in files]})
    elif files:
        for path in files:
            note(f"removed: {path}")
    else:
        note(f"not installed: {file}")
    return 0

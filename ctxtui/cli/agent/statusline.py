"""`ctxtui statusline`: the line in a client that says context, next price, what is left of the cache, one warning."""

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
from ctxtui.views.text.status_line import line, words_of

_ANSI: Final = {"bold": "1", "dim": "2", "warn": "33", "crit": "31", "readtx": "36"}
"""The few styles of the line: the palette takes longer to load than the line may take."""
_ASCII: Final = str.maketrans({"≈": "~", "·": "|", "▲": "!"})


def print_line(settings: Settings | None = None, *, as_json: bool = False) -> int:
    """Print the line for what a client says on standard input. Raises `CtxtuiError`."""
    if sys.stdin.isatty():
        raise CtxtuiError("a client says on standard input what is to be told", way_out=_WAY)
    told = parse_input(sys.stdin.read())
    settings = settings or load().settings
    status = build_status(told, settings)
    store_reports(told, settings, status.at)
    usage = status.predict_next()
    usd, cold = (price_call(one, told, settings) for one in (usage, status.predict_next(cold=True)))
    warning = find_warning(status, cold)
    if as_json:
        write_json(
            {
                "context_tokens": status.context,
                "usable": status.usable or None,
                "next_usd": usd,
                "next_usd_cold": cold,
                "cache_seconds": status.seconds_left,
                "warning": {"kind": warning.kind, "text": words_of(warning)} if warning is not None else None,
            }
        )
        return 0
    colour = not os.environ.get("NO_COLOR")
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8" or settings.glyphs == "ascii"
    parts = []
    for text, style in line(status, usd, warning):
        codes = ";".join(_ANSI[word] for word in style.split() if word in _ANSI) if colour else ""
        shown = text.translate(_ASCII) if plain else text
        parts.append(f"\x1b[{codes}m{shown}\x1b[0m" if codes else shown)
    write("".join(parts))
    return 0


_WAY: Final = "`ctxtui statusline install` has Claude Code run it"


def install(settings: Settings, *, replace: bool, as_json: bool) -> int:
    """Put the line into Claude Code's settings. Raises `CtxtuiError`."""
    from ctxtui.services.attach import status_install

    file = status_install.settings_file()
    made = status_install.install(file, replace=replace, setting=settings.data_dir)
    if as_json:
        backup = str(made.backup) if made is not None and made.backup is not None else None
        write_json({"file": str(file), "installed": True, "changed": made is not None, "backup": backup})
        return 0
    if made is None:
        note(f"it stands there already: {file}")
        return 0
    note(f"written: {file}; `ctxtui statusline remove` takes it out")
    if made.backup is not None:
        note(f"as it was before: {made.backup}")
    return 0


def remove(settings: Settings, *, as_json: bool) -> int:
    """Take the line out of every file that it was put into, and of the user's own. Raises `CtxtuiError`."""
    from ctxtui.services.attach import status_install

    file = status_install.settings_file()
    files = status_install.remove_everywhere(settings.data_dir)
    if file not in files and status_install.remove(file, setting=settings.data_dir) is not None:
        files.append(file)
    if as_json:
        write_json({"removed": [str(one) for one in files]})
    elif files:
        for one in files:
            note(f"taken out: {one}")
    else:
        note(f"it stands nowhere: {file}")
    return 0

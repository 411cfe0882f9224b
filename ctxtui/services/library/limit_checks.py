"""Recordings held against limits, for `ctxtui check` and the pytest fixture."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ctxtui.analysis.call_choice import all_unsent, choose
from ctxtui.analysis.context_window import ContextWindow, context_window
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.bill import bill
from ctxtui.analysis.money.limits import (
    TOLERANCE,
    Figures,
    Limits,
    LimitVerdict,
    against,
    all_passed,
    figures_of,
    verdicts,
)
from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig, Malformed
from ctxtui.core.session import Session
from ctxtui.services.config.config import load as load_settings
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, account, contexts
from ctxtui.services.counting.count_cache import counter_with_memory
from ctxtui.services.counting.counting import Counter
from ctxtui.services.recordings.file_tail import read_error
from ctxtui.services.recordings.open import load

_UNITS = {"": 1, "k": 1000, "m": 1_000_000}


class CheckedRecording(NamedTuple):
    """A recording's figures, what the limits say of them, and the window in force for its largest context."""

    name: str
    figures: Figures
    verdicts: list[LimitVerdict]
    window: ContextWindow = ContextWindow()

    @property
    def passed(self) -> bool | None:
        """Whether every limit holds; None where none is broken and one cannot be told."""
        return all_passed(one.passed for one in self.verdicts)


def check(
    name: str,
    session: Session,
    counter: Counter,
    settings: Settings,
    limits: Limits,
    baseline: Mapping[str, Any] | None = None,
    tolerance: float = TOLERANCE,
) -> CheckedRecording:
    """Hold a session that is read whole against `limits` and, where given, the figures of a `baseline`."""
    return held(name, measured(session, counter, settings), limits, baseline, tolerance)


class MeasuredRecording(NamedTuple):
    """The figures that limits are about, and the window in force for the largest context."""

    figures: Figures
    window: ContextWindow


def measured(session: Session, counter: Counter, settings: Settings) -> MeasuredRecording:
    """The figures of a session that is read whole."""
    one = account(session, counter, settings)
    largest, size = _largest(one)
    found = figures_of(session, bill(one.book, one.costs, one.misses().found), size, one.most_usd())
    return MeasuredRecording(found, context_window(one.book, largest, settings.usable_share))


def held(
    name: str, of: MeasuredRecording, limits: Limits, baseline: Mapping[str, Any] | None, tolerance: float
) -> CheckedRecording:
    """What `limits` and the figures of a `baseline` say of a recording."""
    further = against(of.figures, baseline, tolerance) if baseline is not None else []
    return CheckedRecording(name, of.figures, [*verdicts(of.figures, limits), *further], of.window)


def check_file(
    path: Path, limits: Limits, baseline: Path | None = None, tolerance: float = TOLERANCE
) -> CheckedRecording:
    """As `check`, for the recording in `path`, with the settings of the current directory. Raises what `load` and
    `read_baseline` raise."""
    settings = load_settings().settings
    before = baseline_for(str(path), read_baseline(baseline), True) if baseline is not None else None
    with counter_with_memory(settings) as counter:
        return check(str(path), load(path).session, counter, settings, limits, before, tolerance)


def _largest(one: Account) -> tuple[Call, int]:
    """The call with the largest context, as reported, else as counted, and that; one that is still to be sent
    counts, too."""
    calls = [*contexts(one.session), *all_unsent(one.session)] or [choose(one.session).call]
    sizes = [(figures(one.book, call).context_tokens, -number) for number, call in enumerate(calls)]
    most, number = max(sizes)
    return calls[-number], most


def read_baseline(path: Path) -> dict[str, dict[str, Any]]:
    """The figures of an earlier ``ctxtui check --json``, by the name of each recording's file.

    Raises `Unreadable`, and `Malformed` where the file is something else.
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise read_error(path, error) from error
    except ValueError as error:
        raise Malformed(
            f"{path} is not JSON", place=str(error), way_out="ctxtui check PATH --json writes one"
        ) from error
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, list) or not all(isinstance(one, dict) and "figures" in one for one in files):
        raise Malformed(f"{path} holds no figures", place="$.files", way_out="ctxtui check PATH --json writes one")
    return {Path(str(one.get("file", ""))).name: one["figures"] for one in files}


def baseline_for(name: str, known: Mapping[str, dict[str, Any]], alone: bool) -> dict[str, Any] | None:
    """The baseline of recording `name`: the one of its file's name, or the only one where each is `alone`."""
    found = known.get(Path(name).name)
    return next(iter(known.values())) if found is None and alone and len(known) == 1 else found


def amount(text: str, option: str) -> int:
    """A count as people write it: ``100k``, ``1.5M``, ``10_000``. Raises `BadConfig`."""
    found = re.fullmatch(r"([\d_,]*\.?\d+)\s*([kKmM]?)", text.strip())
    if found is None:
        raise BadConfig(f"{option}: {text!r} is no amount", way_out="write 100000 or 100k")
    return round(float(found[1].replace("_", "").replace(",", "")) * _UNITS[found[2].lower()])


def share(text: str, option: str) -> float:
    """A share: ``30%``, ``30 %`` or ``0.3``. Raises `BadConfig`."""
    plain = text.strip()
    try:
        value = float(plain.rstrip("% ")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadConfig(f"{option}: {text!r} is no share", way_out="write 30% or 0.3")
    return value

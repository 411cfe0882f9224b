"""Checks recordings against limits and an earlier recording's figures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ctxtui.analysis.call_choice import choose_call, unsent_calls
from ctxtui.analysis.content.compactions import KINDS, thread_compactions
from ctxtui.analysis.content.guard import SECRET, Guard
from ctxtui.analysis.content.repeated_calls import longest_loop
from ctxtui.analysis.context_window import ContextWindow, context_window
from ctxtui.analysis.figures import figures
from ctxtui.analysis.money.bill import make_bill
from ctxtui.analysis.money.limits import (
    Figures,
    Limits,
    LimitVerdict,
    all_passed,
    check_baseline,
    check_limits,
    session_figures,
)
from ctxtui.core.call import Call
from ctxtui.core.errors import BadConfig, Malformed
from ctxtui.core.session import Session
from ctxtui.core.tree import ROOT
from ctxtui.curation.context import Context
from ctxtui.services.config.config import load as load_settings
from ctxtui.services.config.package_data import guard_rules
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.accounts import Account, calls_with_context, make_account
from ctxtui.services.counting.count_cache import cached_counter
from ctxtui.services.counting.counting import Counter
from ctxtui.services.recordings.file_tail import read_error
from ctxtui.services.recordings.open import load

_UNITS = {"": 1, "k": 1000, "m": 1_000_000}
_COUNT: Final = re.compile(r"(\d{1,3}(?:,\d{3}){1,6}|\d[\d_]{0,19}|)(\.\d{1,20})?\s*([kKmM]?)")


class CheckedRecording(NamedTuple):
    """A recording compared with limits, and maybe a baseline.

    `window` is that of its largest context.
    """

    name: str
    figures: Figures
    verdicts: list[LimitVerdict]
    window: ContextWindow

    @property
    def passed(self) -> bool | None:
        """Whether all `verdicts` are passed; None if none failed and one is unknown."""
        return all_passed(verdict.passed for verdict in self.verdicts)


class MeasuredRecording(NamedTuple):
    """The figures that limits apply to, and the window of the largest context."""

    figures: Figures
    window: ContextWindow


def measure(session: Session, counter: Counter, settings: Settings, limits: Limits) -> MeasuredRecording:
    """Compute the figures of a whole session.

    Repeats, secrets and lost facts only if `limits` has a limit for them.
    """
    account = make_account(session, counter, settings)
    largest, size = _find_largest_context(account)
    bill = make_bill(account.book, account.costs, account.misses().misses)
    measured = session_figures(session, bill, size, account.max_usd())
    if limits.max_repeats is not None:
        measured = replace(measured, repeats=max(map(longest_loop, _last_contexts(session)), default=0))
    if limits.max_secrets is not None:
        measured = replace(measured, secrets=len(_blocks_with_secrets(session)))
    if limits.max_lost is not None:
        compactions = [each for costs in account.threads() for each in thread_compactions(account.book, costs)]
        measured = replace(measured, lost_facts=sum(each.count_lost(kind) for each in compactions for kind in KINDS))
    return MeasuredRecording(measured, context_window(account.book, largest, settings.usable_share))


def _last_contexts(session: Session) -> Iterator[Context]:
    """The contexts that no other one of the session continues."""
    heads = dict.fromkeys(call.sent_head for call in [*session.calls.values(), *unsent_calls(session)])
    heads |= dict.fromkeys(thread.tip for thread in session.threads.values())
    continued = set[int]()
    for head in heads:
        node = session.tree[head].parent
        while node != ROOT and node not in continued:
            continued.add(node)
            node = session.tree[node].parent
    return (Context(session.tree, head) for head in heads if head != ROOT and head not in continued)


def _blocks_with_secrets(session: Session) -> set[str]:
    guard = Guard(guard_rules())
    blocks = (item.block for context in _last_contexts(session) for item in context.items)
    return {block.digest for block in blocks if any(risk.kind == SECRET for risk in guard.risks(block))}


def check_measured(
    name: str, measurement: MeasuredRecording, limits: Limits, baseline: Mapping[str, Any] | None, tolerance: float
) -> CheckedRecording:
    """Compare a measured recording with `limits` and, if given, the figures of a `baseline`.

    `tolerance`: the share by which a figure may be worse.
    """
    comparisons = check_baseline(measurement.figures, baseline, tolerance) if baseline is not None else []
    return CheckedRecording(
        name, measurement.figures, [*check_limits(measurement.figures, limits), *comparisons], measurement.window
    )


def check_file(path: Path, limits: Limits, baseline: Path | None, tolerance: float) -> CheckedRecording:
    """Check the recording in `path` with the settings of the current directory.

    Raises `BadConfig` for the settings, and the errors of `load` and `read_baseline`.
    """
    settings = load_settings().settings
    before = baseline_for(str(path), read_baseline(baseline), True) if baseline is not None else None
    with cached_counter(settings) as counter:
        measurement = measure(load(path).session, counter, settings, limits)
    return check_measured(str(path), measurement, limits, before, tolerance)


def _find_largest_context(account: Account) -> tuple[Call, int]:
    """The call with the largest context, sent or not, and its size, reported or else counted."""
    calls = [*calls_with_context(account.session), *unsent_calls(account.session)] or [
        choose_call(account.session).call
    ]
    sizes = [figures(account.book, call).context_tokens for call in calls]
    size = max(sizes)
    return calls[sizes.index(size)], size


def read_baseline(path: Path) -> dict[str, dict[str, Any]]:
    """Read the figures of an earlier ``ctxtui check --json``, by each recording's path.

    Raises `Unreadable`, `NotFound`, and `Malformed` for another kind of file.
    """
    try:
        data = json.loads(path.read_bytes())
    except OSError as error:
        raise read_error(path, error) from error
    except (ValueError, RecursionError) as error:
        raise Malformed(f"not JSON: {error}", place=str(path), way_out="ctxtui check PATH --json writes one") from error
    files = data.get("files") if isinstance(data, dict) else None
    if not isinstance(files, list) or not all(
        isinstance(entry, dict) and isinstance(entry.get("figures"), dict) for entry in files
    ):
        raise Malformed(f"{path} contains no figures", place="$.files", way_out="ctxtui check PATH --json writes one")
    return {str(entry.get("file", "")): entry["figures"] for entry in files}


def baseline_for(name: str, by_file: Mapping[str, dict[str, Any]], is_only: bool) -> dict[str, Any] | None:
    """Baseline of the recording `name`, by path, else by file name; None if there is none.

    A single baseline is for the only recording (`is_only`), whatever its name.
    """
    if name in by_file:
        return by_file[name]
    matches = [figures for file, figures in by_file.items() if Path(file).name == Path(name).name]
    candidates = matches or (list(by_file.values()) if is_only else [])
    return candidates[0] if len(candidates) == 1 else None


def parse_limits(options: Mapping[str, Any], format_name: Callable[[str], str] = str) -> Limits:
    """Parse limits by their names in `Limits` (None: no limit).

    ``no_secrets``: True for no secret at all. Counts and shares may be texts: ``100k``, ``30%``. Raises `BadConfig`,
    which has an option's name as written by `format_name`, and `TypeError` for an unknown limit.
    """
    limits = {name: value for name, value in options.items() if name != "no_secrets"}
    for name, parse in _AMOUNTS.items():
        if limits.get(name) is not None:
            limits[name] = parse(str(limits[name]), format_name(name))
    return Limits(**limits, max_secrets=0 if options.get("no_secrets") else None)


def parse_count(text: str, option: str) -> int:
    """Parse a count: ``100k``, ``1.5M``, ``10_000``. Raises `BadConfig`."""
    match = _COUNT.fullmatch(text.strip())
    whole, fraction, unit = match.groups("") if match is not None else ("", "", "")
    if not (whole or fraction) or (fraction and not unit):
        raise BadConfig(f"{option}: {text!r} is not a count", way_out="write 100000 or 100k")
    return round(float(whole.replace("_", "").replace(",", "") + fraction) * _UNITS[unit.lower()])


def parse_share(text: str, option: str) -> float:
    """Parse a share: ``30%``, ``30 %`` or ``0.3``. Raises `BadConfig`."""
    plain = text.strip()
    try:
        value = float(plain.rstrip("% ")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise BadConfig(f"{option}: {text!r} is not a share", way_out="write 30% or 0.3")
    return value


_AMOUNTS: Final = {"max_context": parse_count, "max_block_chars": parse_count, "min_cache_read": parse_share}
"""Limits that are written as a text."""

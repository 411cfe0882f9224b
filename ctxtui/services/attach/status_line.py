"""What Claude Code says to its status line's command, with what the end of its transcript and the prices add.

It runs after every message of the client, so nothing heavy is imported: rates are asked of the price library once a day
and model, and kept in a file.
"""

from __future__ import annotations

import json
import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from ctxtui import __version__
from ctxtui.analysis.money.status_line import ClientStatus
from ctxtui.core.errors import Malformed
from ctxtui.core.usage import Usage
from ctxtui.pricing.rates import Rates, find_rates
from ctxtui.pricing.terms import Terms
from ctxtui.services.config.paths import data_dir
from ctxtui.services.config.settings import Settings
from ctxtui.services.counting.pricing import prices_for

END: Final = 256 << 10
"""Bytes of a transcript's end that are read: the last twenty answers and more."""
_RATES: Final = ("fresh", "read", "write_5m", "write_1h", "output")
_SHORT, _LONG = 300.0, 3600.0
_KEPT: Final = 64

Told = dict[str, Any]


def told_by(text: str) -> Told:
    """What the client says. Raises `Malformed`."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("standard input is not what Claude Code says to a status line", way_out=_BY_ITSELF) from None
    if not isinstance(found, dict) or "context_window" not in found:
        raise Malformed("standard input is not what Claude Code says to a status line", way_out=_BY_ITSELF)
    return found


_BY_ITSELF: Final = "`ctxtui statusline install` has Claude Code run it"


def status_of(told: Told, settings: Settings, at: float | None = None) -> ClientStatus:
    """What the client said, seen at the Unix time `at` (None: now)."""
    now = time.time() if at is None else at
    ended = _Ending(_obj(told).get("transcript_path"))
    window, cache = _obj(told.get("context_window")), _obj(told.get("prompt_cache"))
    long = cache.get("ttl") == "1h" if cache else ended.long
    expires = _number(cache.get("expires_at"))
    if not cache and ended.at is not None:
        # Versions before 2.1.251 say nothing of the cache: it lives on from the last answer's beginning at the latest.
        expires = ended.at + (_LONG if long else _SHORT)
    last = _usage(_obj(window.get("current_usage")), long=long)
    missed = _obj(cache.get("last_miss_cause")).get("causes")
    quota = _obj(_obj(told.get("rate_limits")).get("five_hour"))
    return ClientStatus(
        at=now,
        last=last,
        answers=ended.answers,
        usable=_usable(_model(told), int(_number(window.get("context_window_size")) or 0), settings),
        cached=cache.get("caching_observed") is not False,
        long=long,
        expires=expires,
        missed=_number(cache.get("last_miss_at")),
        cause=str(missed[0]).replace("_", " ") if isinstance(missed, list) and missed else "",
        again=last.cache_write if last is not None else 0,
        quota=_number(quota.get("used_percentage")),
        resets=_number(quota.get("resets_at")),
    )


def price_of(usage: Usage | None, told: Told, settings: Settings) -> float | None:
    """USD of a coming call of the client; None where no price of its model is known."""
    if usage is None:
        return None
    by = _rates(_model(told), told.get("fast_mode") is True, usage.input, settings)
    if by is None:
        return None
    parts = (usage.fresh, usage.cache_read, usage.write_5m, usage.write_1h, usage.output)
    return sum(part * by[name] for name, part in zip(_RATES, parts, strict=True))


def _model(told: Told) -> str:
    return str(_obj(told.get("model")).get("id") or "")


def _usage(found: Told, *, long: bool) -> Usage | None:
    if not found:
        return None
    fresh, read, written, output = (
        int(_number(found.get(name)) or 0)
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    return Usage(
        fresh=fresh,
        cache_read=read,
        write_5m=0 if long else written,
        write_1h=written if long else 0,
        output=output,
    )


def _usable(model: str, window: int, settings: Settings) -> int:
    """What of the client's window is to be filled: the user's own figures for the model, else the share."""
    window = settings.context_sizes.get(model.removesuffix("[1m]"), window)
    own = settings.usable_contexts.get(model.removesuffix("[1m]"))
    return min(own, window) if own else round(window * settings.usable_share)


class _Ending:
    """The end of a transcript: the `answers` of its main thread in tokens, when the last one came (`at`, Unix seconds),
    and whether what it wrote to the cache lives an hour (`long`)."""

    def __init__(self, path: object) -> None:
        self.at: float | None = None
        self.long = False
        answers: dict[str, int] = {}
        for line in _last_lines(path):
            if b'"assistant"' not in line:
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue  # the first line of the end is cut, the last one may be half written
            message = _obj(_obj(record).get("message"))
            used = _obj(message.get("usage"))
            if record.get("type") != "assistant" or record.get("isSidechain") is True or not used:
                continue
            answers[str(message.get("id"))] = int(_number(used.get("output_tokens")) or 0)
            self.at = _moment(record.get("timestamp")) or self.at
            written = _obj(used.get("cache_creation"))
            if any(_number(own) for own in written.values()):
                self.long = bool(_number(written.get("ephemeral_1h_input_tokens")))
        self.answers = tuple(tokens for tokens in answers.values() if tokens)


def _last_lines(path: object) -> list[bytes]:
    if not isinstance(path, str) or not path:
        return []
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - END))
            return file.read(END).splitlines()
    except OSError:
        return []  # before its first answer a session has no transcript


def _rates(model: str, fast: bool, length: int, settings: Settings) -> dict[str, float] | None:
    """USD per token of each of `_RATES`: as they were kept today, else asked of the price library and kept."""
    # Long prompts have rates of their own; where these begin is for the library to say.
    key = (
        f"{__version__} {model} {fast} {length // 10_000} {time.strftime('%Y-%m-%d')} {sorted(settings.prices.items())}"
    )
    file = data_dir(settings.data_dir) / "status-rates.json"
    try:
        kept = _obj(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        kept = {}
    if key in kept:
        return kept[key] if isinstance(kept[key], dict) else None
    found = _asked(model, fast, length, settings)
    told = {name: getattr(found, name) for name in _RATES} if found is not None else None
    _keep(file, {**dict(list(kept.items())[-_KEPT:]), key: told})
    return told


def _asked(model: str, fast: bool, length: int, settings: Settings) -> Rates | None:
    return find_rates(model, "anthropic", None, length, prices_for(settings), Terms(fast=fast))


def _keep(file: Path, rates: dict[str, Any]) -> None:
    half = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        half.write_text(json.dumps(rates), encoding="utf-8")
        half.replace(file)
    except OSError:
        half.unlink(missing_ok=True)  # a folder that is read-only: they are asked for again each time


def _obj(value: object) -> Told:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    return (
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15 else None
    )


def _moment(value: object) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None

"""Builds a status line's data from Claude Code's input, its transcript's end, and prices.

It runs after every message of the client, so it imports nothing heavy: rates from the price library are cached in a
file for the day.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ctxtui import __version__
from ctxtui.analysis.money.status_line import ClientStatus
from ctxtui.core.errors import Malformed
from ctxtui.core.json_values import as_count, as_dict, as_number, as_str
from ctxtui.core.usage import Usage
from ctxtui.pricing.rates import find_rates
from ctxtui.pricing.terms import Terms
from ctxtui.services.config.paths import data_dir
from ctxtui.services.config.settings import Settings
from ctxtui.services.config.window_checks import find_size
from ctxtui.services.counting.pricing import prices_for
from ctxtui.transcripts.kit.fields import parse_timestamp

END_BYTES: Final = 256 << 10
"""Bytes read from the end of a transcript, usually more than the last twenty answers."""
_RATES: Final = ("fresh", "read", "write_5m", "write_1h", "output")
_SHORT_LIFE_S, _LONG_LIFE_S = 300.0, 3600.0
MAX_CACHED_RATES: Final = 64

JsonObject = dict[str, Any]


def parse_input(text: str) -> JsonObject:
    """Parse the client's input. Raises `Malformed`."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("standard input is not Claude Code's status line JSON", way_out=_INSTALL_HINT) from None
    if not isinstance(parsed, dict) or "context_window" not in parsed:
        raise Malformed("standard input is not Claude Code's status line JSON", way_out=_INSTALL_HINT)
    return parsed


_INSTALL_HINT: Final = "`ctxtui statusline install` lets Claude Code run it"


def build_status(client_input: JsonObject, settings: Settings, at: float | None = None) -> ClientStatus:
    """Build the status from the client's input at the Unix time `at` (None: now)."""
    now = time.time() if at is None else at
    ending = _TranscriptEnd(client_input.get("transcript_path"))
    window, cache = as_dict(client_input.get("context_window")), as_dict(client_input.get("prompt_cache"))
    long = cache.get("ttl") == "1h" if cache else ending.long
    expires = as_number(cache.get("expires_at"))
    if not cache and ending.at is not None:
        # Versions before 2.1.251 do not report the cache: its time starts with the last answer at the latest.
        expires = ending.at + (_LONG_LIFE_S if long else _SHORT_LIFE_S)
    last = _usage(as_dict(window.get("current_usage")), long=long)
    miss_causes = as_dict(cache.get("last_miss_cause")).get("causes")
    quota = as_dict(as_dict(client_input.get("rate_limits")).get("five_hour"))
    return ClientStatus(
        at=now,
        last=last,
        answers=ending.answers,
        usable=_usable(_model(client_input), as_count(window.get("context_window_size")), settings),
        cached=cache.get("caching_observed") is not False,
        long=long,
        expires=expires,
        missed=as_number(cache.get("last_miss_at")),
        cause=str(miss_causes[0]).replace("_", " ") if isinstance(miss_causes, list) and miss_causes else "",
        quota=as_number(quota.get("used_percentage")),
        resets=as_number(quota.get("resets_at")),
    )


class ColdSend(Struct, frozen=True):
    """A message to a session whose cache expired so many `seconds` ago.

    `tokens` are written again. `usd` is the call's price, `warm_usd` the same if the cache were read (None: unknown).
    """

    tokens: int
    seconds: float
    usd: float | None
    warm_usd: float | None


def find_cold_send(transcript: object, settings: Settings, at: float | None = None) -> ColdSend | None:
    """Forecast a message to the session of a transcript after its cache has expired.

    It is sent at the Unix time `at` (None: now). None if the cache is still alive, nothing was cached, or the last
    call's context is unknown.
    """
    now = time.time() if at is None else at
    ending = _TranscriptEnd(transcript)
    last = _usage(ending.reported, long=ending.long)
    if last is None or ending.at is None or not last.cache_read + last.cache_write:
        return None
    expires = ending.at + (_LONG_LIFE_S if ending.long else _SHORT_LIFE_S)
    if now < expires:
        return None
    status = ClientStatus(at=now, last=last, answers=ending.answers, long=ending.long)
    client = {"model": {"id": ending.model}, "fast_mode": ending.fast}
    usd, warm_usd = (price_call(status.predict_next(cold=cold), client, settings) for cold in (True, False))
    return ColdSend(last.input + last.output, now - expires, usd, warm_usd)


def price_call(usage: Usage | None, client_input: JsonObject, settings: Settings) -> float | None:
    """Price of a coming call of the client in USD.

    None without `usage`, or if its model has no known price.
    """
    if usage is None:
        return None
    rates = _cached_rates(_model(client_input), client_input.get("fast_mode") is True, usage.input, settings)
    if rates is None:
        return None
    parts = (usage.fresh, usage.cache_read, usage.write_5m, usage.write_1h, usage.output)
    return sum(part * rates[name] for name, part in zip(_RATES, parts, strict=True))


def _model(client_input: JsonObject) -> str:
    return str(as_dict(client_input.get("model")).get("id") or "")


def _usage(counts: JsonObject, *, long: bool) -> Usage | None:
    if not counts:
        return None
    fresh, read, write, output = (
        as_count(counts.get(name))
        for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    return Usage(
        fresh=fresh,
        cache_read=read,
        write_5m=0 if long else write,
        write_1h=write if long else 0,
        output=output,
    )


def _usable(model: str, window: int, settings: Settings) -> int:
    """Usable tokens of a model's window: the user's number, or the share.

    `window` is the client's; a window that the user set for the model replaces it.
    """
    window = find_size(model, settings.context_sizes)[1] or window
    own = find_size(model, settings.usable_contexts)[1]
    return min(own, window) if own else round(window * settings.usable_share)


class _TranscriptEnd:
    """Data from the end of a transcript.

    `answers`: sizes of the main thread's answers in tokens. `at`: time of the last one (Unix seconds). `long`: its
    cache writes live for an hour. `reported`: its usage as the client wrote it, empty after a compaction; `model`:
    its model; `fast`: it was sent in fast mode.
    """

    def __init__(self, path: object) -> None:
        self.at: float | None = None
        self.long = self.fast = False
        self.model = ""
        self.reported: JsonObject = {}
        answers: dict[str, int] = {}
        for line in _last_lines(path):
            if b'"compact_boundary"' in line:
                self.reported = {}
            if b'"assistant"' not in line:
                continue
            try:
                record = as_dict(json.loads(line))
            except (ValueError, RecursionError):
                continue  # the first line of the end is cut, the last one may be half written
            message = as_dict(record.get("message"))
            used = as_dict(message.get("usage"))
            if record.get("type") != "assistant" or record.get("isSidechain") is True or not used:
                continue
            answers[str(message.get("id"))] = as_count(used.get("output_tokens"))
            self.at = parse_timestamp(as_str(record.get("timestamp"))) or self.at
            self.reported, self.fast = used, used.get("speed") == "fast"
            self.model = str(message.get("model") or "")
            written = as_dict(used.get("cache_creation"))
            if any(as_number(own) for own in written.values()):
                self.long = bool(as_number(written.get("ephemeral_1h_input_tokens")))
        self.answers = tuple(tokens for tokens in answers.values() if tokens)


def _last_lines(path: object) -> list[bytes]:
    if not isinstance(path, str) or not path:
        return []
    try:
        with open(path, "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - END_BYTES))
            return file.read(END_BYTES).splitlines()
    except OSError:
        return []  # a session has no transcript before its first answer


def _cached_rates(model: str, fast: bool, length: int, settings: Settings) -> dict[str, float] | None:
    """USD per token for each of `_RATES`, from today's cache file or the price library.

    None if there is no price.
    """
    # Long prompts may have higher rates, from a size that only the library has.
    key = (
        f"{__version__} {model} {fast} {length // 10_000} {time.strftime('%Y-%m-%d')} {sorted(settings.prices.items())}"
    )
    file = data_dir(settings.data_dir) / "status-rates.json"
    try:
        cached = as_dict(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        cached = {}
    if key in cached:
        return cached[key] if isinstance(cached[key], dict) else None
    rates = find_rates(model, "anthropic", None, length, prices_for(settings), Terms(fast=fast))
    by_name = {name: getattr(rates, name) for name in _RATES} if rates is not None else None
    _write_cache(file, {**dict(list(cached.items())[-MAX_CACHED_RATES:]), key: by_name})
    return by_name


def _write_cache(file: Path, rates: dict[str, Any]) -> None:
    part = file.with_suffix(f".{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        part.write_text(json.dumps(rates), encoding="utf-8")
        part.replace(file)
    except OSError:
        part.unlink(missing_ok=True)  # in a read-only folder, rates are looked up each time

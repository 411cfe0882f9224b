"""Windows in the settings held against each other and against what is known of the models; and from when on a context
is said to be large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Origin
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.tokens.models import plain_id


def check_windows(settings: Settings, origins: Mapping[str, Origin]) -> None:
    """Raise `BadConfig` for a window above what the model takes, whose card is known; for two windows of one model; and
    for a usable part that is more than the window. The error names file, value, maximum and the fix."""
    for name in settings.windows:
        check_size(name, f"windows.{name}", settings.windows[name], origins[f"windows.{name}"].place)
    for name, own in settings.models.items():
        place = origins[f"models.{name}"].place
        size = own.get("context_size", 0)
        if size:
            check_size(name, f"models.{name}.context_size", size, place)
        short = settings.windows.get(name, size)
        if size and short != size:
            raise BadConfig(
                f"models.{name}.context_size = {size:,} and windows.{name} = {short:,} are two windows of one model",
                place=place,
                way_out=f"take one of them away ({origins[f'windows.{name}'].place} has the other)",
            )
        most = size or short or model_table().card(name).window or 0
        check_usable(name, own.get("usable_context", 0), most, place)


def check_size(model: str, setting: str, tokens: int, place: str, known: int = 0) -> None:
    """Raise `BadConfig` where a window of `tokens` is more than `model` takes: `known` (0: what its card says)."""
    card = model_table().card(model)
    most = known or max(card.window or 0, card.long_window or 0)
    if most and tokens > most:
        raise BadConfig(
            f"{setting} = {tokens:,} is more than the {most:,} tokens that {model} takes",
            place=place,
            way_out=f"set it to {most} or less, or take it away",
        )


def check_usable(model: str, tokens: int, window: int, place: str) -> None:
    """Raise `BadConfig` where the usable part is more than the window (0: not known)."""
    if window and tokens > window:
        raise BadConfig(
            f"models.{model}.usable_context = {tokens:,} is more than its window of {window:,} tokens",
            place=place,
            way_out=f"set it to {window * 3 // 4} (75 %), at most {window}, or take it away",
        )


def size_of(model: str, sizes: Mapping[str, int]) -> tuple[str, int]:
    """What `sizes`, settings by model, say of `model`: the name that they have for it, and tokens; ("", 0) where they
    say nothing."""
    name = next((one for one in sizes if plain_id(one) == plain_id(model)), "")
    return name, sizes.get(name, 0)


def setting_of(name: str, settings: Settings) -> str:
    """The setting that names the window of model `name`."""
    return f"windows.{name}" if name in settings.windows else f"models.{name}"


def answer_limit(answer_tokens: int, most_output: int, window: int) -> int:
    """Tokens that a request asks for an answer: `answer_tokens`, at most what the model gives and a quarter of its
    window (0: not known)."""
    return min(answer_tokens, most_output or answer_tokens, window // 4 or answer_tokens)


FINE, WARNING, CRITICAL = 0, 1, 2
REMEDY: Final = "drop, truncate or summarize something"


class ContextLevel(Struct, frozen=True):
    """`number` is `FINE`, `WARNING` or `CRITICAL`; `told` is the size and what it is held against ("" where fine)."""

    number: int
    told: str = ""


def context_level(used: int, usable: int, settings: Settings) -> ContextLevel:
    """The level of a request of so many tokens, of which `usable` are meant to be used (0: not known)."""
    share = used / usable if usable else 0.0
    by_share = _level(share, settings.warn_share, settings.critical_share)
    by_tokens = _level(used, settings.warn_tokens, settings.critical_tokens)
    if by_tokens and by_tokens >= by_share:
        limit = settings.critical_tokens if by_tokens == CRITICAL else settings.warn_tokens
        return ContextLevel(by_tokens, f"the context is at {used:,} tokens, over {limit:,}")
    if by_share:
        told = f"the context is at {100 * share:.0f} % of the {usable:,} tokens that are meant to be used"
        return ContextLevel(by_share, told)
    return ContextLevel(FINE)


def _level(value: float, warn: float, critical: float) -> int:
    """Thresholds of 0 are none."""
    return CRITICAL if critical and value >= critical else WARNING if warn and value >= warn else FINE

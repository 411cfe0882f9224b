"""Validates window settings, and rates the size of a context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config, Origin
from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.tokens.models import plain_id


def check_windows(settings: Settings, origins: Mapping[str, Origin]) -> None:
    """Check the settings of context windows against each other and the known models.

    Raises `BadConfig`: a window above the model's, two different windows of one model, a usable part above the window.
    """
    for name in settings.windows:
        check_size(name, f"windows.{name}", settings.windows[name], origins[f"windows.{name}"].place)
    for name, sizes in settings.models.items():
        place = origins[f"models.{name}"].place
        size = sizes.get("context_size", 0)
        if size:
            check_size(name, f"models.{name}.context_size", size, place)
        other_name, other_size = find_size(name, settings.windows)
        if size and other_size and other_size != size:
            raise BadConfig(
                f"models.{name}.context_size = {size:,} and windows.{other_name} = {other_size:,} "
                "are two windows of one model",
                place=place,
                way_out=f"remove one of them ({origins[f'windows.{other_name}'].place} has the other)",
            )
        window = size or other_size or model_table().card(name).window or 0
        check_usable(name, sizes.get("usable_context", 0), window, place)


def check_size(model: str, setting: str, tokens: int, place: str, maximum: int = 0) -> None:
    """Raise `BadConfig` if a window of `tokens` is larger than `maximum`.

    `maximum` is in tokens (0: the longest window of the model's card). `setting` and `place` are for the error's text.
    """
    card = model_table().card(model)
    limit = maximum or max(card.window or 0, card.long_window or 0)
    if limit and tokens > limit:
        raise BadConfig(
            f"{setting} = {tokens:,} is more than the {limit:,} tokens that {model} takes",
            place=place,
            way_out=f"set it to {limit} or less, or remove it",
        )


def check_usable(model: str, tokens: int, window: int, place: str) -> None:
    """Raise `BadConfig` if the usable part exceeds the window (0: unknown)."""
    if window and tokens > window:
        raise BadConfig(
            f"models.{model}.usable_context = {tokens:,} is more than its window of {window:,} tokens",
            place=place,
            way_out=f"set it to {window * 3 // 4} (75 %), at most {window}, or remove it",
        )


def find_size(model: str, sizes: Mapping[str, int]) -> tuple[str, int]:
    """Find `model`, by its plain id, in a setting by model: its name there and the tokens.

    ("", 0) if it is missing.
    """
    name = next((key for key in sizes if plain_id(key) == plain_id(model)), "")
    return name, sizes.get(name, 0)


def window_setting(name: str, settings: Settings) -> str:
    """The name of the setting that has the window of `name`, which is in one of them."""
    return f"windows.{name}" if name in settings.windows else f"models.{name}.context_size"


def window_origin(name: str, config: Config) -> Origin | None:
    """The origin of the setting that `window_setting` names; None if it is not set."""
    return config.origins.get(f"windows.{name}" if name in config.settings.windows else f"models.{name}")


def answer_limit(answer_tokens: int, max_output: int, window: int) -> int:
    """`answer_tokens`, but not more than the model's limit and a quarter of its window.

    All in tokens; `max_output` and `window` are 0 if unknown.
    """
    return min(answer_tokens, max_output or answer_tokens, window // 4 or answer_tokens)


FINE, WARNING, CRITICAL = 0, 1, 2
REMEDY: Final = "drop, truncate or summarize something"


class ContextLevel(Struct, frozen=True):
    """`number` is `FINE`, `WARNING` or `CRITICAL`.

    `description` tells size and limit ("": fine).
    """

    number: int
    description: str = ""


def context_level(used: int, usable: int, settings: Settings) -> ContextLevel:
    """The level of a request of `used` tokens, with `usable` tokens available (0: unknown)."""
    share = used / usable if usable else 0.0
    by_share = _rate_value(share, settings.warn_share, settings.critical_share)
    by_tokens = _rate_value(used, settings.warn_tokens, settings.critical_tokens)
    if by_tokens and by_tokens >= by_share:
        limit = settings.critical_tokens if by_tokens == CRITICAL else settings.warn_tokens
        return ContextLevel(by_tokens, f"the context is at {used:,} tokens; your limit is {limit:,}")
    if by_share:
        message = f"the context is at {100 * share:.0f} % of the usable {usable:,} tokens"
        return ContextLevel(by_share, message)
    return ContextLevel(FINE)


def _rate_value(value: float, warn: float, critical: float) -> int:
    """The level of a value; thresholds of 0 are disabled."""
    return CRITICAL if critical and value >= critical else WARNING if warn and value >= warn else FINE

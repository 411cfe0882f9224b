"""Salt of a prompt's prefix keys: provider, scope, model, parameters that reach the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Final, NamedTuple

from ctxtui.cache.rules import SECTIONS, CacheRules
from ctxtui.core import canonical
from ctxtui.core.canonical import Json

KEY_BYTES: Final = 16
"""Length of a prefix key, and of each part of a salt."""


class PrefixSalt(NamedTuple):
    """The inputs of a request's prefix keys besides its blocks.

    A prefix key is a hash over all blocks of the prefix. It starts from `tools`; `system` and `messages` are mixed in
    where their section begins (16 bytes each). Two requests with equal blocks share a cached prefix up to the first
    section whose entry here differs.
    """

    dialect: str
    tools: bytes
    system: bytes
    messages: bytes


def mix(*parts: bytes) -> bytes:
    """Digest of `parts` (16 bytes)."""
    return blake2b(b"\0".join(parts), digest_size=KEY_BYTES).digest()


def prefix_salt(
    rules: CacheRules,
    dialect: str,
    *,
    provider: str = "",
    scope: str = "",
    model: str = "",
    params: Mapping[str, Json] | None = None,
) -> PrefixSalt:
    """Build the salt of a request in `dialect` with the top-level members `params`.

    - `scope`: the workspace or organisation, whose caches the provider keeps apart from others.
    - ``betas`` in `params`: the active beta set.

    A parameter without a rule changes nothing; a default value, null or an empty list is the same as none.
    """
    parts_by_section: dict[str, list[bytes]] = {section: [] for section in SECTIONS}
    for path, section, value in effective_parameters(rules, dialect, params or {}):
        parts_by_section[section].append(path.encode("utf-8", "surrogatepass") + b"=" + canonical.dumps(value))
    base = [name.encode("utf-8", "surrogatepass") for name in (provider, scope, model)]
    tools, system, messages = (parts_by_section[section] for section in ("tools", "system", "messages"))
    return PrefixSalt(dialect, mix(b"tools", *base, *tools), mix(*system), mix(*messages))


def effective_parameters(rules: CacheRules, dialect: str, params: Mapping[str, Json]) -> list[tuple[str, str, Json]]:
    """List non-default parameters that reach the prompt, in the order of the rules.

    Each is (path, first section invalidated, value). Betas are sorted; ``disable_parallel_tool_use: false`` counts as
    absent.
    """
    parameters = []
    for parameter in rules.parameters.get(dialect, ()):
        value = _value_at(params, parameter.path)
        if (
            isinstance(value, dict)
            and parameter.path == "tool_choice"
            and value.get("disable_parallel_tool_use") is False
        ):
            value = {key: item for key, item in value.items() if key != "disable_parallel_tool_use"}
        if isinstance(value, list) and parameter.path == "betas":
            value = sorted(map(str, value))
        if value not in (None, parameter.default, []):
            parameters.append((parameter.path, parameter.since, value))
    return parameters


def _value_at(params: Mapping[str, Json], path: str) -> Json:
    value: Json = params
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value

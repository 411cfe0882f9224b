"""Profiles: several policies with their settings, written in TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.core.errors import BadConfig, NotFound
from ctxtui.curation.policies.policy import Policy, Step


class Profile(Struct, frozen=True):
    """Policies that run one after the other.

    `armed`: a chat applies their edits at once; else it only stages them.
    """

    name: str
    steps: tuple[Step, ...]
    armed: bool = False


def parse_profile(text: str, policies: Mapping[str, Policy], place: str = "") -> Profile:
    """Parse a profile file: ``name``, ``armed`` (default: false), and ``[[policy]]`` tables.

    Each table names its policy by ``use``; other members are its settings. `policies` are the available policies.
    Raises `BadConfig` with the place, `NotFound`.
    """
    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadConfig(f"not TOML: {error}", place=place, way_out="write [[policy]] tables with use = NAME") from None
    tables = data.pop("policy", [])
    name, armed = data.pop("name", ""), data.pop("armed", False)
    if data:
        fault = f"unknown key {next(iter(data))!r}"
    elif not isinstance(name, str):
        fault = f"name must be a text, not {name!r}"
    elif not isinstance(armed, bool):
        fault = f"armed must be true or false, not {armed!r}"
    else:
        fault = "" if isinstance(tables, list) and tables else "no [[policy]] table"
    if fault:
        raise BadConfig(fault, place=place, way_out="a profile has name, armed and [[policy]] tables")
    return Profile(
        name, tuple(_parse_step(table, f"{place}: policy {n}", policies) for n, table in enumerate(tables, 1)), armed
    )


def _parse_step(table: Json, place: str, policies: Mapping[str, Policy]) -> Step:
    if not isinstance(table, dict) or not isinstance(table.get("use"), str):
        raise BadConfig("a policy must say `use = NAME`", place=place)
    settings = {key: value for key, value in table.items() if key != "use"}
    return make_step(table["use"], policies, settings, place)


def make_step(
    name: str, policies: Mapping[str, Policy], settings: Mapping[str, Json] | None = None, place: str = ""
) -> Step:
    """Make a step of one of the known `policies`.

    Raises `NotFound` for an unknown name, `BadConfig` for a wrong setting.
    """
    policy = policies.get(name)
    if policy is None:
        similar_names = get_close_matches(name, policies, 1)
        way_out = f"did you mean {similar_names[0]}?" if similar_names else f"policies: {', '.join(policies)}"
        raise NotFound(f"no policy {name!r}", place=place, way_out=way_out)
    policy.settings(settings or {}, place)
    return Step(policy, dict(settings or {}))

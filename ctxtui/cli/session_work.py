"""Work over the sessions that a command names, here or by a cluster, with its line of progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import click

from ctxtui.cli.context import named
from ctxtui.cli.progress import Working
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.cluster import LOCAL
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open_by_name import Named
from ctxtui.services.session_work import SessionResult, run_over_sessions

CLUSTER_HELP: Final = "Read by the processes of a dask cluster: its scheduler's address, or local."
_SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")
"""What dask speaks over a network."""


class ClusterAddress(click.ParamType[str]):
    """A scheduler's address. What is none is told whether there is anything to read or not; nobody is called yet."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """It as it is. Raises `BadConfig`."""
        if value in ("", LOCAL):
            return value
        try:
            url = urlsplit(value if "://" in value else f"tcp://{value}")
            port = url.port
        except ValueError as error:
            raise _bad_address(value, str(error)) from error
        if url.scheme not in _SCHEMES:
            raise _bad_address(value, f"{url.scheme} is none of {', '.join(_SCHEMES)}")
        if not url.hostname or not port:
            raise _bad_address(value, "it names no port" if url.hostname else "it names no host")
        return value


def _bad_address(address: str, why: str) -> BadConfig:
    return BadConfig(
        f"{address!r} is no scheduler's address: {why}", place="--cluster", way_out="tcp://HOST:8786, or local"
    )


def worked(
    work: str, names: Sequence[str], asked: Any, settings: Settings, doing: str, cluster: str = ""
) -> list[SessionResult]:
    """What the function called `work` finds of each session that `names` name, or the error that it ends in, in their
    order. Raises what a cluster that is not there raises."""
    there: list[tuple[str, Named]] = []
    failed: dict[str, SessionResult] = {}
    for name in names:
        try:
            there.append((name, named(name, settings)))
        except CtxtuiError as error:
            failed[name] = SessionResult(name, None, error)
    with Working(doing) as line:
        done = {one.name: one for one in run_over_sessions(work, there, asked, cluster, line.say)}
    return [done.get(name) or failed[name] for name in names]

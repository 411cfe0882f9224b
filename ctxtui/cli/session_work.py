"""Work over the sessions given to a command, here, in processes or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import click

from ctxtui.cli.context import resolve_name
from ctxtui.cli.progress import Working
from ctxtui.core.errors import BadConfig, CtxtuiError
from ctxtui.services.cluster import LOCAL
from ctxtui.services.config.settings import Settings
from ctxtui.services.recordings.open_by_name import Named
from ctxtui.services.session_work import SessionResult, run_over_sessions

CLUSTER_HELP: Final = "Read with a dask cluster: the scheduler's address, or local."
_SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")


class ClusterAddress(click.ParamType[str]):
    """A dask scheduler's address, or ``local``. It is checked even if there is nothing to read."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Raises `BadConfig`."""
        if value in ("", LOCAL):
            return value
        try:
            url = urlsplit(value if "://" in value else f"tcp://{value}")
            port = url.port
        except ValueError as error:
            raise _bad_address(value, str(error)) from error
        if url.scheme not in _SCHEMES:
            raise _bad_address(value, f"{url.scheme} is not one of {', '.join(_SCHEMES)}")
        if not url.hostname or not port:
            raise _bad_address(value, "it has no port" if url.hostname else "it has no host")
        return value


def _bad_address(address: str, reason: str) -> BadConfig:
    return BadConfig(
        f"{address!r} is not a scheduler's address: {reason}", place="--cluster", way_out="tcp://HOST:8786, or local"
    )


def read_sessions(
    work: str, names: Sequence[str], request: Any, settings: Settings, doing: str, cluster: str = ""
) -> list[SessionResult]:
    """Run `work` (``module:function``) over `names`; return each result or error, in order.

    Raises what `run_over_sessions` raises, with a `cluster`.
    """
    targets: list[tuple[str, Named]] = []
    results: dict[str, SessionResult] = {}
    for name in dict.fromkeys(names):
        try:
            targets.append((name, resolve_name(name, settings)))
        except CtxtuiError as error:
            results[name] = SessionResult(name, None, error)
    with Working(doing) as line:
        results |= {result.name: result for result in run_over_sessions(work, targets, request, cluster, line.show)}
    return [results[name] for name in names]

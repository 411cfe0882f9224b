"""Work over the sessions that a command names, here or by a cluster, with its line of progress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from ctxtui.cli.context import named
from ctxtui.cli.progress import Working
from ctxtui.core.errors import CtxtuiError

if TYPE_CHECKING:
    from ctxtui.services.config.settings import Settings
    from ctxtui.services.recordings.open_by_name import Named
    from ctxtui.services.session_work import SessionResult

CLUSTER_HELP: Final = "Read by the processes of a dask cluster: its scheduler's address, or local."


class ClusterAddress(click.ParamType[str]):
    """A scheduler's address. What is none is told whether there is anything to read or not; nobody is called yet."""

    name = "address"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """It as it is. Raises `BadConfig`."""
        # Imported here: a command's help needs no processes.
        from ctxtui.services.cluster import refuse_no_address

        if value:
            refuse_no_address(value)
        return value


def worked(
    work: str, names: Sequence[str], asked: Any, settings: Settings, doing: str, cluster: str = ""
) -> list[SessionResult]:
    """What the function called `work` finds of each session that `names` name, or the error that it ends in, in their
    order. Raises what a cluster that is not there raises."""
    # Imported here: a command's help needs no readers.
    from ctxtui.services.session_work import SessionResult, over_sessions

    there: list[tuple[str, Named]] = []
    failed: dict[str, SessionResult] = {}
    for name in names:
        try:
            there.append((name, named(name, settings)))
        except CtxtuiError as error:
            failed[name] = SessionResult(name, None, error)
    with Working(doing) as line:
        done = {one.name: one for one in over_sessions(work, there, asked, cluster, line.say)}
    return [done.get(name) or failed[name] for name in names]

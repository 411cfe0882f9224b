"""An executor that runs work on the workers of a dask cluster, local or remote."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from types import ModuleType
from typing import Any, Final, NamedTuple

from ctxtui import __version__
from ctxtui.core.errors import CtxtuiError
from ctxtui.services.config.extras import import_extra

LOCAL: Final = "local"
"""An address: start worker processes on this machine, and end them after the work."""
WORKER_TIMEOUT: Final = "30s"
_REQUESTS_PER_WORKER: Final = 4
"""Requests submitted at once for each thread of the cluster, so that none waits for the next one."""
DASK_LOGGERS: Final = (
    "distributed.client",
    "distributed.nanny",
    "distributed.core",
    "distributed.comm.tcp",
    "asyncio",
    "tornado.application",
)


class ClusterExecutor(NamedTuple):
    """An executor, and the number of requests that keeps its workers busy."""

    executor: Executor
    requests: int


@contextmanager
def cluster_executor(address: str) -> Iterator[ClusterExecutor]:
    """Connect to the cluster at `address`: a scheduler's (``tcp://host:8786``), or `LOCAL`.

    Raises `NotFound` if dask is not installed, `CtxtuiError` if the cluster cannot be reached, has no workers, or
    fails.
    """
    distributed = _import_distributed()
    place = f"--cluster {address}"
    try:
        with _connect(distributed, address) as client:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
            threads = sum(client.ncores().values())
            yield ClusterExecutor(client.get_executor(pure=False), _REQUESTS_PER_WORKER * max(1, threads))
    except CtxtuiError as error:
        raise CtxtuiError(error.message, place=place, way_out=error.way_out) from error
    except Exception as error:  # the boundary: dask raises any exception of its workers
        raise CtxtuiError(
            f"the cluster cannot do the work: {error or type(error).__name__}",
            place=place,
            way_out=f"is its scheduler there, with workers (dask worker ADDRESS) that have ctxtui {__version__}?",
        ) from error


def _connect(distributed: ModuleType, address: str) -> Any:
    if address != LOCAL:
        return distributed.Client(address, timeout="10s", set_as_default=False)
    # One thread per worker: a child process answers one request at a time.
    return distributed.Client(
        processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1", set_as_default=False
    )


def _import_distributed() -> ModuleType:
    module = import_extra("cluster")
    # Its logs are tracebacks of errors that are reported anyway.
    for name in DASK_LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return module

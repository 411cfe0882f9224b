"""The work of child processes handed to an existing engine: the processes of a dask cluster, here or on other machines.

A piece of work is what `child_process.ChildProcess` asks for too: a maker (``module:function``) and a request for what
it makes. So whatever runs in children here runs past one machine without knowing of it.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ctxtui import __version__
from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.process_pool import Gone

if TYPE_CHECKING:
    from types import ModuleType

LOCAL: Final = "local"
"""In place of an address: processes of this machine, ended with the work."""
_WAITING: Final = 4
"""Requests under way for each process: what is wanted next is asked for as one is free."""
PATIENCE: Final = 30.0
"""Seconds without any worker after which nobody is waited for."""
_LOOKS: Final = 2.0
"""Seconds between looks whether somebody is there to work."""
_OFTEN: Final = 0.02
"""Seconds between looks for answers."""
_LOGS: Final = (
    "distributed.client",
    "distributed.nanny",
    "distributed.core",
    "distributed.comm.tcp",
    "asyncio",
    "tornado.application",
)
_SCHEMES: Final = ("tcp", "tls", "ws", "wss", "ucx")
"""What dask speaks over a network."""
_children: dict[str, ChildProcess] = {}


def answers(maker: str, requests: Iterable[Any], address: str, gone: Gone) -> Iterator[Any]:
    """The answer to each of `requests`, as they come, from the processes of the cluster at `address`: a scheduler's
    (``tcp://host:8786``), or `LOCAL`. `gone` answers where a process died at its work. Raises `NotFound` where dask is
    not installed, `BadConfig` where that is no address, `CtxtuiError` where the cluster cannot be reached, has no
    workers or fails."""
    refuse_no_address(address)
    distributed = _distributed()
    try:
        with _client(distributed, address) as client:
            yield from _answered(distributed, client, maker, iter(requests), gone)
    except (OSError, distributed.comm.core.CommClosedError, distributed.client.CancelledError) as error:
        said = "it went away" if isinstance(error, distributed.client.CancelledError) else error
        raise CtxtuiError(
            f"the cluster does not do its work: {said}", place=f"--cluster {address}", way_out="is its scheduler there?"
        ) from error
    except CtxtuiError as error:
        raise CtxtuiError(error.message, place=f"--cluster {address}", way_out=error.way_out) from error


def _answered(distributed: ModuleType, client: Any, maker: str, requests: Iterator[Any], gone: Gone) -> Iterator[Any]:
    most = _WAITING * max(1, sum(client.ncores().values()))
    asked: dict[str, Any] = {}
    # The requests first: a client that closes leaves nothing under way.
    under_way = distributed.as_completed(loop=client.loop)
    workers = _Workers(client)

    def send(count: int) -> None:
        for request in islice(requests, count):
            future = client.submit(work, maker, request, __version__, pure=False)
            asked[future.key] = request
            under_way.add(future)

    send(most)
    while asked:
        done = under_way.next_batch(block=False)
        if not done:
            workers.look()
            time.sleep(_OFTEN)
        for future in done:
            yield _answer(distributed, future, asked.pop(future.key), gone)
            send(1)


def _answer(distributed: ModuleType, future: Any, request: Any, gone: Gone) -> Any:
    try:
        return future.result()
    except ChildGone as error:
        return gone(request, error)
    except distributed.scheduler.KilledWorker as error:
        # Every process that took it up was ended, as a machine does that runs out of memory.
        return gone(request, ChildGone(str(error)))
    except (CtxtuiError, OSError, distributed.client.CancelledError, distributed.comm.core.CommClosedError):
        raise
    except Exception as error:
        raise CtxtuiError(
            f"a worker cannot do it: {type(error).__name__}: {error}",
            way_out=f"has each worker ctxtui {__version__} installed?",
        ) from error


class _Workers:
    """Whether anybody is there to do the work: a scheduler keeps requests until somebody is."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._seen = self._looked = time.monotonic()

    def look(self) -> None:
        """Look now and then. Raises `CtxtuiError` where no worker was there for long."""
        now = time.monotonic()
        if now - self._looked < _LOOKS:
            return
        self._looked = now
        if self._client.ncores():
            self._seen = now
        elif now - self._seen > PATIENCE:
            raise CtxtuiError(
                f"no worker for {PATIENCE:g} s: the scheduler is there, and nobody works for it",
                way_out="start some: dask worker ADDRESS",
            )


def work(maker: str, request: Any, version: str) -> Any:
    """The answer to `request` of what `maker` makes, once in a process: runs in a process of the cluster.

    That one runs it in a thread; what stops a search in time takes a main thread, and a crash ends the process it is
    in: so the work is done in a child there, as it is here. Raises `ChildGone`, and `CtxtuiError` where whoever asks
    has another `version` of this program: figures of two versions are not to be added up."""
    if version != __version__:
        raise CtxtuiError(
            f"a worker ({socket.gethostname()}) has ctxtui {__version__}, and here it is {version}",
            way_out="install the same version on both",
        )
    if maker not in _children:
        _children[maker] = ChildProcess(maker)
    return _children[maker].ask(request)


def _client(distributed: ModuleType, address: str) -> Any:
    if address != LOCAL:
        return distributed.Client(address, timeout="10s", set_as_default=False)
    # One thread in each: a child answers one request at a time.
    return distributed.Client(
        processes=True, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1", set_as_default=False
    )


def refuse_no_address(address: str) -> None:
    """Raises `BadConfig` where `address` is neither a scheduler's, with its port, nor `LOCAL`; nobody is asked."""
    if address == LOCAL:
        return
    try:
        found = urlsplit(address if "://" in address else f"tcp://{address}")
        port = found.port
    except ValueError as error:
        raise _no_address(address, str(error)) from error
    if found.scheme not in _SCHEMES:
        raise _no_address(address, f"{found.scheme} is none of {', '.join(_SCHEMES)}")
    if not found.hostname or not port:
        raise _no_address(address, "it names no host" if not found.hostname else "it names no port")


def _no_address(address: str, why: str) -> BadConfig:
    return BadConfig(
        f"{address!r} is no scheduler's address: {why}", place="--cluster", way_out="tcp://HOST:8786, or local"
    )


def _distributed() -> ModuleType:
    try:
        # By name: it is an extra, and has no types of its own.
        found = import_module("distributed")
    except ImportError as error:
        raise NotFound("dask.distributed is not installed", way_out="pip install 'ctxtui[cluster]'") from error
    # What goes wrong is said once, in our words: its own log is tracebacks.
    for name in _LOGS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return found

"""The work of child processes handed to an existing engine: the processes of a dask cluster, here or on other machines.

A piece of work is what `child_process.ChildProcess` asks for too: a maker (``module:function``) and a request for what
it makes. So whatever runs in children here runs past one machine without knowing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from ctxtui.core.errors import CtxtuiError, NotFound
from ctxtui.services.child_process import ChildGone, ChildProcess
from ctxtui.services.process_pool import Gone

if TYPE_CHECKING:
    from types import ModuleType

LOCAL: Final = "local"
"""In place of an address: processes of this machine, ended with the work."""
_WAITING: Final = 4
"""Requests under way for each process: what is wanted next is asked for as one is free."""
_children: dict[str, ChildProcess] = {}


def answers(maker: str, requests: Iterable[Any], address: str, gone: Gone) -> Iterator[Any]:
    """The answer to each of `requests`, as they come, from the processes of the cluster at `address`: a scheduler's
    (``tcp://host:8786``), or `LOCAL`. `gone` answers where a process died at its work. Raises `NotFound` where dask is
    not installed, `CtxtuiError` where the cluster cannot be reached or fails."""
    distributed = _distributed()
    try:
        with _client(distributed, address) as client:
            yield from _answered(distributed, client, maker, iter(requests), gone)
    except (OSError, distributed.comm.core.CommClosedError, distributed.scheduler.KilledWorker) as error:
        raise CtxtuiError(
            f"the cluster does not do its work: {error}",
            place=f"--cluster {address}",
            way_out="is its scheduler there?",
        ) from error


def _answered(distributed: ModuleType, client: Any, maker: str, requests: Iterator[Any], gone: Gone) -> Iterator[Any]:
    most = _WAITING * max(1, sum(client.ncores().values()))
    asked: dict[str, Any] = {}
    # The requests first: a client that closes leaves nothing under way.
    under_way = distributed.as_completed(loop=client.loop)

    def send(count: int) -> None:
        for request in islice(requests, count):
            future = client.submit(work, maker, request, pure=False)
            asked[future.key] = request
            under_way.add(future)

    send(most)
    for future in under_way:
        request = asked.pop(future.key)
        try:
            found = future.result()
        except ChildGone as error:
            found = gone(request, error)
        yield found
        send(1)


def work(maker: str, request: Any) -> Any:
    """The answer to `request` of what `maker` makes, once in a process: runs in a process of the cluster.

    That one runs it in a thread; what stops a search in time takes a main thread, and a crash ends the process it is
    in: so the work is done in a child there, as it is here. Raises `ChildGone`."""
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


def _distributed() -> ModuleType:
    try:
        # By name: it is an extra, and has no types of its own.
        return import_module("distributed")
    except ImportError as error:
        raise NotFound("dask.distributed is not installed", way_out="pip install 'ctxtui[cluster]'") from error

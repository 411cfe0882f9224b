"""The request that follows the last call of a long recording, foretold by the process that works the recording out.

In the screen's process its context alone, read whole, takes hundreds of megabytes. What is foretold is a few figures:
they are asked for there as long as nothing is edited, and the recording is the one that was read there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from ctxtui.analysis.cache.next_call import AfterCall, Coming, Foretold
from ctxtui.dataclasses import replace

if TYPE_CHECKING:
    from ctxtui.services.study.study import Study
    from ctxtui.views.model.scene import Scene

_MOMENTS: Final = 4
"""Moments that a request is foretold for at most: now, and whenever something of what it reads has expired."""


class Beside(NamedTuple):
    """What is known of a next request: `coming` (None: nothing), and whether the other process is still to tell it."""

    waits: bool = False
    coming: Coming | None = None


def foretell(study: Study, asked: AfterCall, clock: Callable[[], float]) -> Foretold:
    """The request that follows a call as it is foretold now (a recorded one's: when the call had ended), and at each
    moment from which on another one holds. All of `study` is worked out; nothing where the call is not its thread's
    last, or its context another one."""
    # Imported here: the screen only asks.
    from ctxtui.analysis.cache.what_if import Replay
    from ctxtui.services.counting.books import cached_by
    from ctxtui.services.editing.next_request import next_of

    calls = study.thread(asked.thread).calls
    if calls[-1].id != asked.call or asked.head >= len(study.session.tree):
        return ()
    learnt, found = study.learnt(), list[tuple[float, Coming]]()
    replay, at = Replay(study.book, cached_by(study.book), lambda: learnt), clock() if asked.live else None
    for _ in range(_MOMENTS):
        one = next_of(replay, study.book, calls[-1], asked.head, calls, study.pricer, at)
        found.append((one.asked.now, one.coming))
        expiry = one.asked.expiry
        if at is None or expiry is None or expiry <= one.asked.now:
            break
        at = expiry
    return found


def beside(study: Study, scene: Scene, now: float, *, live: bool) -> Beside:
    """What the other process tells, or is asked to tell, of the request that would follow the call shown, to which no
    edit applies; `live` as in `StagingArea.next_call`."""
    call, head = scene.call, scene.tip or scene.head
    if not scene.last or call.usage is None or not call.usage.has_cache:
        return Beside()
    asked = AfterCall(scene.thread, call.id, head, live)
    if study.deputy is not None:
        study.deputy.foretell(asked)
        return Beside(waits=True)
    tree, version = scene.session.tree, (study.book.version, len(study.session.calls))
    for one, (known_as, moments) in study.foretold.items():
        if one._replace(head=head) != asked or known_as[0] != version[0] or not tree.holds(head, one.head):
            continue
        coming = [found for begins, found in moments if begins <= now or not live] or [moments[0][1]]
        same = one.head == head and known_as == version
        return Beside(coming=coming[-1] if same else replace(coming[-1], outdated=True))
    return Beside()

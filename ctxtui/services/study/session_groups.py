"""What the large parts of a session's contexts are made of, learnt once: here, or in the process that works the session
out."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Final

import zstandard

from ctxtui.core.session import Session

if TYPE_CHECKING:
    from ctxtui.analysis.content.heavy_groups import HeavyGroups

_LEVEL: Final = 1


class SessionGroups:
    """The groups of `session`. One thread at a time learns."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._sent: bytes | None = None
        self._groups: HeavyGroups | None = None

    @property
    def begun(self) -> bool:
        """Whether anything is learnt."""
        return self._groups is not None or self._sent is not None

    def learnt(self) -> HeavyGroups:
        """The groups of every context there is by now."""
        # Imported here: nobody asks before the figures are there.
        from ctxtui.analysis.content.heavy_groups import HeavyGroups

        groups, sent = self._groups, self._sent
        if groups is None:
            groups = HeavyGroups(self._session.tree, self._session.about.cwd)
            if sent is not None:
                groups.take_over(pickle.loads(zstandard.decompress(sent)))
            self._groups, self._sent = groups, None
        groups.learn_new()
        return groups

    def sent(self) -> bytes:
        """What is learnt by now, for another process that has read the same."""
        return zstandard.compress(pickle.dumps(self.learnt().kept(), pickle.HIGHEST_PROTOCOL), _LEVEL)

    def take_over(self, sent: bytes) -> None:
        """Go on from what another process sent."""
        self._sent = sent

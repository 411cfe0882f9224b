from __future__ import annotations

from collections.abc import Iterator

import pytest

from ctxtui.services.recordings import recording


@pytest.fixture(autouse=True, scope="package")
def no_pause() -> Iterator[None]:
    """What must be read as a whole may be read again at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recording, "_PAUSE_FACTOR", 0.0)
        yield

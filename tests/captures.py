"""Sessions of real clients with their wire beside them, in the folder that `CTXTUI_CAPTURES` names; by default it is
`../shared/review/captures` beside the checkout. A test that needs one is skipped where it is absent."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxtui.services.recordings.open import load
from tests.corpus import ROOT

CAPTURES = Path(os.environ.get("CTXTUI_CAPTURES") or ROOT.parent / "shared" / "review" / "captures")


def capture(client: str, pattern: str) -> list[Any]:
    """The files of a client's captures as parameters of a test; one that skips where there are none."""
    found = sorted(CAPTURES.glob(f"{client}-*/{pattern}"))
    ids = [path.name for path in found]
    absent = pytest.param(None, marks=pytest.mark.skip("captures absent"))
    return [pytest.param(path, id=name) for path, name in zip(found, ids, strict=True)] or [absent]


def wire_usage(path: Path) -> list[tuple[int, int, int]]:
    """Input, of it read from the cache, and output of every answered request on the wire beside a capture's `path`."""
    (folder,) = [one for one in path.parents if (one / "wire").is_dir()]
    (wire,) = (folder / "wire").glob("*.har")
    entries = json.loads(wire.read_bytes())["log"]["entries"]
    calls = load(wire).session.calls.values()
    assert len(calls) <= len(entries)
    return [(one.usage.input, one.usage.cache_read, one.usage.output) for one in calls if one.usage]

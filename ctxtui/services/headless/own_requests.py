"""Policies for requests that a program makes by itself: what `ctxtui curate - --policy` does to one, without a process.

trimmed = curator("trimming.toml")
client.messages.create(**trimmed(request))
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from ctxtui.analysis.call_choice import choose
from ctxtui.core import canonical
from ctxtui.services.config.config import load
from ctxtui.services.config.policy_registry import chosen_steps
from ctxtui.services.counting.books import book_for
from ctxtui.services.counting.counting import Counter, count_all
from ctxtui.services.counting.pricing import prices_for
from ctxtui.services.editing.curate import curated
from ctxtui.services.editing.edited_context import written
from ctxtui.services.recordings.open import load_stream

Body = dict[str, Any]


def curator(policies: str | Path | Iterable[str | Path], cwd: Path | str = ".") -> Callable[[Mapping[str, Any]], Body]:
    """What puts a request body under `policies` (names, or files of profiles) and returns the one that leaves. Blocks
    are counted once, however many requests hold them. Settings are those of the folder `cwd`.

    Raises `BadConfig`, `NotFound` for policies that are spelled wrongly; what it returns raises `CtxtuiError` for what
    is no request, or where no legal one is left."""
    settings = load([], cwd=Path(cwd).resolve()).settings
    named = [policies] if isinstance(policies, str | Path) else list(policies)
    steps, counter, prices = chosen_steps([str(one) for one in named]), Counter(), prices_for(settings)

    def curate(request: Mapping[str, Any]) -> Body:
        loaded = load_stream(io.BytesIO(canonical.dumps(dict(request))), "the request")
        book = book_for(loaded.session, counter, settings)
        count_all(book, counter)
        found = curated(
            book, counter, choose(loaded.session), steps=steps, usable_share=settings.usable_share, prices=prices
        )
        body: Body = canonical.loads(written(found, "", None).data)
        return body

    return curate

"""What is searched in a session, read by another process: the index itself is written by one alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ctxtui.core.errors import CtxtuiError
from ctxtui.services.recordings.open import load
from ctxtui.services.search.index import SessionTexts, error_of, texts_of


def make() -> Callable[[tuple[int, str]], SessionTexts]:
    """What a process answers with, here or in a cluster: the texts of the recording at a path, or why it has none."""

    def answer(request: tuple[int, str]) -> SessionTexts:
        number, path = request
        try:
            return SessionTexts(number, list(texts_of(load(Path(path)).session)))
        except CtxtuiError as error:
            return SessionTexts(number, error=error_of(error))

    return answer

"""Ids of answers and calls, the same again for the same seed."""

from __future__ import annotations

import string
from random import Random
from typing import Final

_LETTERS: Final = string.ascii_letters + string.digits


class Names:
    """Gives out ids; equal seeds give equal ids."""

    def __init__(self, seed: int = 0) -> None:
        self._random = Random(seed)

    def new(self, prefix: str, length: int = 24) -> str:
        """A new id that begins with `prefix`."""
        return prefix + "".join(self._random.choices(_LETTERS, k=length))

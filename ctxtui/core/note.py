"""Notes and bookmarks: what a user says about a block or a call, beside the recording."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.edit import Target


class Note(Struct, frozen=True):
    """What a user wrote or marked in `session` (the recording's own name): about the call `call` (its id), or about a
    block (`target`). `text` is "" for a bookmark alone, `at` in Unix seconds; `about` is the beginning of what it is
    about, `path` where the recording was ("" where it was no file)."""

    session: str
    call: str = ""
    target: Target | None = None
    bookmark: bool = False
    text: str = ""
    at: float = 0.0
    about: str = ""
    path: str = ""

    @property
    def subject(self) -> tuple[str, Target | None]:
        """What it is about: two notes about the same are one."""
        return self.call, self.target

    @property
    def says(self) -> bool:
        """Whether it says anything."""
        return self.bookmark or bool(self.text)

    def marked(self, at: float) -> Note:
        """With a bookmark, or without the one it has."""
        return replace(self, bookmark=not self.bookmark, at=at)

    def written(self, text: str, at: float) -> Note:
        """With another text."""
        return replace(self, text=text, at=at)

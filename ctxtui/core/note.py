"""Notes and bookmarks of a user on a block or a call, kept apart from the recording."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from ctxtui.core.edit import Target


class Note(Struct, frozen=True):
    """A note or bookmark in `session`, on the call with id `call` or on the block `target`.

    - `session`: the recording's id, or a digest if it has none that can be typed.
    - `text`: "" for a bookmark alone.
    - `at`: Unix seconds.
    - `about`: the beginning of the subject's text.
    - `path`: the recording's path when it was noted ("" if it was no file).
    """

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
        """The call or block that it is about; a session has one note for each subject."""
        return self.call, self.target

    @property
    def has_content(self) -> bool:
        return self.bookmark or bool(self.text)

    def with_bookmark_toggled(self, at: float) -> Note:
        return replace(self, bookmark=not self.bookmark, at=at)

    def with_text(self, text: str, at: float) -> Note:
        return replace(self, text=text, at=at)

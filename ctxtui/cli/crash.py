"""How a broken screen reaches the outermost boundary."""

from __future__ import annotations


class ScreenCrash(Exception):
    """The screen broke by `cause` while `session` ("" for none) was open; the terminal is restored already."""

    def __init__(self, cause: BaseException, session: str) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.session = session

"""Errors that name the place, the cause and a way out."""

from __future__ import annotations


class CtxtuiError(Exception):
    """Base of the errors that a user is shown.

    - `place`: the location (a JSON path such as ``$.messages[3].content[0]``, or ``file:line``).
    - `way_out`: what the user can do.

    Shown as ``message @ place; way out``.
    """

    def __init__(self, message: str, *, place: str = "", way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.place = place
        self.way_out = way_out

    def __str__(self) -> str:
        text = self.message
        if self.place:
            text += f" @ {self.place}"
        if self.way_out:
            text += f"; {self.way_out}"
        return text


class Unreadable(CtxtuiError):
    """The input cannot be read as what it claims to be."""


class NoContext(CtxtuiError):
    """The file is readable but holds no model context; the message says what it is instead."""


class Malformed(CtxtuiError):
    """JSON of the right kind with a value in the wrong shape, at the error's place."""


class NotFound(CtxtuiError):
    """A file, session, call, model or the like that was named does not exist."""


class Several(CtxtuiError):
    """A name that should fit one session, block or request fits several."""


class InUse(CtxtuiError):
    """Process `pid` hosts the stored session `session`, or runs the relay.

    It does so `since` a Unix time. Until it ends, no other process may host, delete or rewrite the session.
    """

    def __init__(
        self, message: str, *, place: str = "", way_out: str = "", session: str = "", pid: int = 0, since: float = 0.0
    ) -> None:
        super().__init__(message, place=place, way_out=way_out)
        self.session = session
        self.pid = pid
        self.since = since


class BadConfig(CtxtuiError):
    """A setting is unknown or its value invalid.

    The place is ``file:line``, a variable or a flag.
    """


class BadPattern(CtxtuiError):
    """A search text that is no valid regular expression, or one that takes too long."""


class ProviderError(CtxtuiError):
    """A provider refused a request or could not be reached.

    - `status`: the HTTP status (0: no answer at all).
    - `retry`: trying again may help.
    - `after`: the seconds that the provider asked to wait (None: not given).
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        retry: bool = False,
        after: float | None = None,
        place: str = "",
        way_out: str = "",
    ) -> None:
        super().__init__(message, place=place, way_out=way_out)
        self.status = status
        self.retry = retry
        self.after = after

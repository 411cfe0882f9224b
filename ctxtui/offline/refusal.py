"""What a provider says instead of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INVALID: Final = "invalid_request_error"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why a request is refused.

    `message` is in the provider's own words where they are known, `status` the HTTP status, `type` the provider's
    class of error. `param` and `code` are OpenAI's fields; `code` is also Anthropic's ``details.error_code``. `rule`
    names the rule that was broken, in a word or two, the same for every place where it is broken.
    """

    message: str
    status: int = 400
    type: str = INVALID
    param: str | None = None
    code: str | None = None
    rule: str = ""

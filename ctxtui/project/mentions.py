"""Files that a message names with ``@``: ``@path``, ``@"a path with blanks"``."""

from __future__ import annotations

import re
from typing import Final

_MENTION: Final = re.compile(r"""(?<![\w@/.])@(?:"([^"\n]+)"|([^\s"'`,;]+))""")
_AROUND: Final = ".:!?)]}>*_"


def mentions(text: str) -> list[tuple[str, ...]]:
    """For each file that `text` may name, how it may be spelled: as it stands, then without what may belong to the
    sentence."""
    found = dict.fromkeys(match[1] or match[2] for match in _MENTION.finditer(text))
    return [tuple(dict.fromkeys(one for one in (name, name.rstrip(_AROUND)) if one)) for name in found]


def spelled(path: str) -> str:
    """How a message names the file at `path`."""
    return f'@"{path}"' if re.search(r"[\s\"'`,;]", path) else f"@{path}"

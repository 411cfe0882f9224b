"""Files ignored by ``.gitignore``, as git reads it (gitignore(5))."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILE: Final = ".gitignore"


class IgnoredPaths:
    """Ignored paths below a folder.

    `add` the text of each ``.gitignore`` before checking paths next to it, parent folders first: the last one added
    with a matching rule wins.
    """

    def __init__(self) -> None:
        self._rules: list[tuple[str, GitIgnoreSpec]] = []

    def add(self, folder: str, text: str) -> None:
        """Add the rules in `folder` ("": the root; no ``/`` at its end), without invalid ones."""
        # Imported here: most runs read no folder.
        from pathspec import GitIgnoreSpec

        lines = text.splitlines()
        try:
            rules = GitIgnoreSpec.from_lines(lines)
        except (ValueError, re.error):
            rules = GitIgnoreSpec.from_lines(line for line in lines if _is_rule(line))
        if len(rules):
            self._rules.append((f"{folder}/" if folder else "", rules))

    def is_ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder at `path` is ignored.

        Like git, do not check anything below an ignored folder.
        """
        for folder, rules in reversed(self._rules):
            if path.startswith(folder):
                is_ignored = rules.check_file(path[len(folder) :] + ("/" if is_folder else "")).include
                if is_ignored is not None:
                    return bool(is_ignored)
        return False


def _is_rule(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    with suppress(ValueError, re.error):
        GitIgnoreSpec.from_lines([line])
        return True
    return False

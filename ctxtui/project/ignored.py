"""Files ignored by ``.gitignore``, as git reads it (gitignore(5))."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

IGNORE_FILE: Final = ".gitignore"


class IgnoredPaths:
    """Ignored paths below a folder.

    `add` the text of each ``.gitignore`` before checking paths next to it, parent folders first: the last one added
    with a matching rule wins, by its last matching rule.
    """

    def __init__(self) -> None:
        self._rules: list[tuple[str, list[_Rule]]] = []

    def add(self, folder: str, text: str) -> None:
        """Add the rules of a file in `folder`, skipping invalid ones.

        `folder` has no ``/`` at its end; "" is the root.
        """
        rules = [rule for line in text.splitlines() if (rule := _read_rule(line)) is not None]
        if rules:
            self._rules.append((f"{folder}/" if folder else "", rules[::-1]))

    def is_ignored(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder at `path` is ignored.

        The caller must not ask about anything below an ignored folder; git does not either.
        """
        for folder, rules in reversed(self._rules):
            if path.startswith(folder):
                for rule in rules:
                    if rule.matches(path[len(folder) :], is_folder):
                        return rule.excludes
        return False


class _Rule(NamedTuple):
    """A line of a ``.gitignore``: it excludes or includes paths, or only folders."""

    pattern: GitIgnoreSpecPattern
    excludes: bool
    only_folders: bool

    def matches(self, path: str, is_folder: bool) -> bool:
        found = self.pattern.match_file(path) if is_folder or not self.only_folders else None
        # The only group is the slash after a folder that matches: `path` is below it, and does not match itself.
        return found is not None and not found.match.lastindex


def _read_rule(line: str) -> _Rule | None:
    """The rule in `line`; None for a comment, an empty or an invalid line."""
    # Imported here: most runs read no folder.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    glob = line if line.endswith("\\ ") else line.rstrip()
    with suppress(ValueError, re.error):
        pattern = GitIgnoreSpecPattern(glob.removesuffix("/"))
        if pattern.include is not None:
            return _Rule(pattern, pattern.include, glob.endswith("/"))
    return None

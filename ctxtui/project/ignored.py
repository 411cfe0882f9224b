"""Which files ``.gitignore`` leaves out, as git reads it (gitignore(5)): the deepest file that says something wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

FILE: Final = ".gitignore"


class IgnoredPaths:
    """What is left out below a folder. `add` the text of each ``.gitignore`` before what is beside it is asked for."""

    def __init__(self) -> None:
        self._rules: list[tuple[str, GitIgnoreSpec]] = []

    def add(self, folder: str, text: str) -> None:
        """The rules in `folder` ("" for the root; with ``/`` inside, none at its end)."""
        # Imported here: most runs look into no folder.
        from pathspec import GitIgnoreSpec

        rules = GitIgnoreSpec.from_lines(text.splitlines())
        if len(rules):
            self._rules.append((f"{folder}/" if folder else "", rules))

    def leaves_out(self, path: str, *, is_folder: bool = False) -> bool:
        """Whether the file or folder at `path` is left out; of what is below a folder that is, git asks no more."""
        for folder, rules in reversed(self._rules):
            if path.startswith(folder):
                said = rules.check_file(path[len(folder) :] + ("/" if is_folder else "")).include
                if said is not None:
                    return bool(said)
        return False

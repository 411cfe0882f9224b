"""Tools with which the agent manages memory: files in one folder, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from ctxtui.agent.tools.read_tools import decode_text
from ctxtui.agent.tools.tool import BadInput, Tool
from ctxtui.agent.tools.workspace import Workspace
from ctxtui.core.canonical import Json
from ctxtui.core.errors import CtxtuiError

VIEW: Final = "memory_view"
CREATE: Final = "memory_create"
EDIT: Final = "memory_edit"
DELETE: Final = "memory_delete"
NAMES: Final = frozenset({VIEW, CREATE, EDIT, DELETE})
_PATH: Final[Json] = {"type": "string", "description": "Name of a memory file, such as todo.md."}
_MAX_SUGGESTED: Final = 3
"""Maximum number of files that the error about full memory suggests to shorten."""


class MemoryFull(CtxtuiError):
    """The write would exceed the budget."""


class MemoryFolder:
    """Memory files in `folder`, at most `budget` tokens in all, as counted by `count`."""

    def __init__(self, folder: Workspace, budget: int, count: Callable[[str], int]) -> None:
        self.folder = folder
        self.budget = budget
        self._count = count

    def texts(self) -> dict[str, str]:
        """Every memory file by name. Raises `CtxtuiError` if one is binary or too large."""
        texts = {}
        for path in self.folder.files():
            if not any(part.startswith(".") for part in path.split("/")):
                try:
                    texts[path] = decode_text(self.folder.read(path), path)
                except CtxtuiError as error:
                    raise CtxtuiError(
                        f"memory cannot be read: {error.message}",
                        place=str(self.folder.root / path),
                        way_out="move the file out of the memory folder",
                    ) from error
        return texts

    def sizes(self) -> dict[str, int]:
        return {name: self._count(text) for name, text in self.texts().items()}

    def view(self, path: str = "") -> str:
        """One file; without a path the names of all with their tokens, and their sum."""
        if path:
            self._resolve_name(path)
            return decode_text(self.folder.read(path), path) or "(empty)"
        sizes = self.sizes()
        rows = [f"{name}  {tokens:,} tokens" for name, tokens in sizes.items()]
        return "\n".join([*rows, f"{sum(sizes.values()):,} of {self.budget:,} tokens are used"])

    def write(self, path: str, text: str) -> str:
        """Create a file, or replace it. Raises `CtxtuiError` (also `MemoryFull`), `OSError`."""
        name = self._resolve_name(path)
        size, others = self._count(text), self.sizes()
        before = others.pop(name, None)
        total = size + sum(others.values())
        if total > self.budget:
            raise self._budget_error(name, size, before, total, others)
        try:
            old: bytes | None = self.folder.read(path)
        except FileNotFoundError:
            old = None
        if not self.folder.write(path, text.encode("utf-8", "replace"), old):
            raise CtxtuiError("the file changed meanwhile", place=name, way_out="view it and write again")
        done = "created" if before is None else "replaced"
        return f"{done} {name}: {size:,} tokens; memory has {total:,} of {self.budget:,}"

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace a text that occurs once in a file. Raises what `write` raises, and `BadInput`."""
        self._resolve_name(path)
        text = decode_text(self.folder.read(path), path)
        count = text.count(old) if old else 0
        if count != 1:
            raise BadInput(
                f"old is {count} times in the file", place=path, way_out="give a text that occurs exactly once"
            )
        return self.write(path, text.replace(old, new))

    def delete(self, path: str) -> str:
        """Delete a file. Raises `CtxtuiError`, `OSError`."""
        self._resolve_name(path)
        self.folder.delete(path)
        return f"deleted {path}; memory has {sum(self.sizes().values()):,} of {self.budget:,} tokens"

    def _resolve_name(self, path: str) -> str:
        """Resolve the path of a memory file.

        Raises `BadInput` if a part begins with a dot, `CtxtuiError`.
        """
        self.folder.check_writable(path)
        name = self.folder.resolve(path).as_posix()
        if any(part.startswith(".") for part in name.split("/")):
            raise BadInput("a memory file's name does not begin with a dot", place=path)
        return name

    def _budget_error(
        self, path: str, size: int, before: int | None, total: int, others: Mapping[str, int]
    ) -> MemoryFull:
        excess = total - self.budget
        largest = sorted(others.items(), key=lambda item: -item[1])[:_MAX_SUGGESTED]
        names = ", ".join(f"{name} ({tokens:,})" for name, tokens in largest)
        was = f", {before:,} before" if before is not None else ""
        return MemoryFull(
            f"not written: {path} would have {size:,} tokens{was}, and memory {total:,} of {self.budget:,}",
            place=path,
            way_out=f"shorten it by {excess:,} tokens" + (f", or shorten or delete {names}" if names else ""),
        )


def memory_tools(memory: MemoryFolder) -> tuple[Tool, ...]:
    """Make the tools that manage `memory`. They write without permission, but only these files."""

    def view(_: Workspace, arguments: Mapping[str, Json]) -> str:
        return memory.view(arguments.get("path", ""))

    def create(_: Workspace, arguments: Mapping[str, Json]) -> str:
        return memory.write(arguments["path"], arguments["content"])

    def edit(_: Workspace, arguments: Mapping[str, Json]) -> str:
        return memory.edit(arguments["path"], arguments["old"], arguments["new"])

    def delete(_: Workspace, arguments: Mapping[str, Json]) -> str:
        return memory.delete(arguments["path"])

    text: Json = {"type": "string", "description": "The whole text of the file."}
    return (
        Tool(
            VIEW,
            f"Your memory: files that you find in every conversation, at most {memory.budget:,} tokens in all. Without "
            "a path it lists their names and sizes.",
            {"path": _PATH},
            view,
        ),
        Tool(
            CREATE,
            "Make a memory file, or replace it whole. Keep what you learn and what is left to do; keep it short.",
            {"path": _PATH, "content": text},
            create,
            ("path", "content"),
        ),
        Tool(
            EDIT,
            "Replace a text that occurs exactly once in a memory file.",
            {
                "path": _PATH,
                "old": {"type": "string", "description": "The exact text to be replaced."},
                "new": {"type": "string", "description": "The replacement text."},
            },
            edit,
            ("path", "old", "new"),
        ),
        Tool(DELETE, "Delete a memory file.", {"path": _PATH}, delete, ("path",)),
    )

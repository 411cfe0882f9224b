"""Selection of a project's files for a context of a given size.

Files that the task names come first, then those related to them. A small project is put in whole; of a larger one some
files are put in as signatures, others left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from ctxtui.project import file_kinds
from ctxtui.project.imports import Paths, find_importers, find_imports
from ctxtui.project.named import find_named
from ctxtui.project.signatures import extract_signatures

EVERYTHING, SHORTENED, BY_TASK = "everything", "large files as signatures", "by task"
"""Strategies, chosen by `Thresholds`."""
NAMED, RELATED, TESTS, DOCUMENTATION, REST = "named", "related", "tests", "documentation", "rest"
REASONS: Final = (NAMED, RELATED, TESTS, DOCUMENTATION, REST)
"""The most important first."""
WHOLE, SIGNATURES = "whole", "signatures"
_LOADED: Final = frozenset({file_kinds.SOURCE, file_kinds.TESTS, file_kinds.DOCUMENTATION, file_kinds.CONFIGURATION})
_MAX_USERS: Final = 12
"""Maximum related files that import a named one, and maximum tests."""
_MAX_CONSECUTIVE_MISFITS: Final = 40
"""Consecutive files without room after which the budget counts as full."""


class ProjectFile(Struct, frozen=True):
    """A text file: its `path` with ``/``, its `kind` (see `file_kinds`)."""

    path: str
    text: str
    kind: str
    tokens: int


class Thresholds(Struct, frozen=True):
    """Limits in tokens that decide how much of a project is loaded.

    A project up to `small` is loaded whole. One up to `medium` is loaded with files over `whole` as signatures, except
    files that the task names. A larger one, or one that does not fit so, is selected by the task.
    """

    small: int = 20_000
    medium: int = 50_000
    whole: int = 2_000


class ChosenFile(Struct, frozen=True):
    """A selected file: reason (one of `REASONS`), form, tokens with its tag, and tagged text."""

    path: str
    why: str
    form: str
    tokens: int
    text: str


class Selection(Struct, frozen=True):
    """The files selected for `budget` tokens.

    `strategy` is `EVERYTHING`, `SHORTENED` or `BY_TASK`; `total` are the tokens of all loadable files.
    """

    strategy: str
    reason: str
    chosen: tuple[ChosenFile, ...]
    left_out: tuple[str, ...]
    budget: int
    total: int

    @property
    def tokens(self) -> int:
        return sum(file.tokens for file in self.chosen)

    def with_reason(self, why: str) -> tuple[ChosenFile, ...]:
        return tuple(file for file in self.chosen if file.why == why)


def format_file(path: str, text: str, form: str = WHOLE) -> str:
    note = ' form="signatures"' if form == SIGNATURES else ""
    return f'<file path="{path}"{note}>\n{text.rstrip()}\n</file>'


def is_loadable(file: ProjectFile) -> bool:
    """Whether a file is loaded by default."""
    return file.kind in _LOADED and not file_kinds.is_private(file.path)


def select(
    files: Sequence[ProjectFile], task: str, budget: int, thresholds: Thresholds, measure: Callable[[str], int]
) -> Selection:
    """Select up to `budget` tokens of `files` for `task`.

    `task` is "" if unknown. `measure` counts tokens.
    """
    loaded = [file for file in files if is_loadable(file)]
    total = sum(file.tokens for file in loaded)
    filler = _Filler(budget, measure)
    ordered = list(_list_candidates(files, loaded, task))
    if total <= min(thresholds.small, budget) and filler.fill(ordered, whole=budget):
        return filler.make_selection(
            EVERYTHING, f"{total:,} tokens are at most {min(thresholds.small, budget):,}", total
        )
    if total <= thresholds.medium:
        filler = _Filler(budget, measure)
        if filler.fill(ordered, whole=thresholds.whole):
            return filler.make_selection(SHORTENED, f"{total:,} tokens are at most {thresholds.medium:,}", total)
        reason = f"{total:,} tokens do not fit into {budget:,}, even with large files as signatures"
    else:
        reason = f"{total:,} tokens are more than {thresholds.medium:,}"
    filler = _Filler(budget, measure)
    filler.fill_by_task(ordered, thresholds.whole)
    return filler.make_selection(BY_TASK, reason, total)


class _Filler:
    def __init__(self, budget: int, measure: Callable[[str], int]) -> None:
        self._budget = budget
        self._measure = measure
        self._free = budget
        self._chosen: list[ChosenFile] = []
        self._left: list[str] = []

    def make_selection(self, strategy: str, reason: str, total: int) -> Selection:
        return Selection(strategy, reason, tuple(self._chosen), tuple(self._left), self._budget, total)

    def fill(self, ordered: Sequence[tuple[ProjectFile, str]], whole: int) -> bool:
        """Add all files; those over `whole` tokens as signatures, unless the task names them.

        Return whether all fit.
        """
        for file, why in ordered:
            shortened = file.tokens > whole and why != NAMED
            if not (self._add_signatures(file, why) if shortened else self._add_whole(file, why)):
                return False
        return True

    def fill_by_task(self, ordered: Sequence[tuple[ProjectFile, str]], whole: int) -> None:
        """Add the files that fit, in order; after `_MAX_CONSECUTIVE_MISFITS` no more are tried.

        Named and related files are added whole if they fit; tests and documentation if they also have at most `whole`
        tokens. All other files are added as signatures.
        """
        misfits = 0
        for file, why in ordered:
            may_whole = why in (NAMED, RELATED) or (why in (TESTS, DOCUMENTATION) and file.tokens <= whole)
            is_added = misfits < _MAX_CONSECUTIVE_MISFITS and (
                (may_whole and self._add_whole(file, why)) or self._add_signatures(file, why)
            )
            misfits = 0 if is_added else misfits + 1
            if not is_added:
                self._left.append(file.path)

    def _add_whole(self, file: ProjectFile, why: str) -> bool:
        if file.tokens > self._free:
            return False
        tokens = file.tokens + self._measure(format_file(file.path, ""))
        return self._add_file(file, why, WHOLE, tokens, file.text)

    def _add_signatures(self, file: ProjectFile, why: str) -> bool:
        """Add a file as signatures, or whole if those are not shorter; return whether it fits."""
        if self._free <= 0:
            return False
        text = extract_signatures(file.path, file.text)
        tokens = self._measure(format_file(file.path, text, SIGNATURES)) if text else 0
        if not text or tokens >= file.tokens:
            return self._add_whole(file, why)
        return self._add_file(file, why, SIGNATURES, tokens, text)

    def _add_file(self, file: ProjectFile, why: str, form: str, tokens: int, text: str) -> bool:
        if tokens > self._free:
            return False
        self._free -= tokens
        self._chosen.append(ChosenFile(file.path, why, form, tokens, format_file(file.path, text, form)))
        return True


def _list_candidates(
    files: Sequence[ProjectFile], loaded: Sequence[ProjectFile], task: str
) -> Iterator[tuple[ProjectFile, str]]:
    """The candidates with their reasons, the most important first; named files of any kind."""
    by_path = {file.path: file for file in files}
    paths, texts = Paths(by_path), {file.path: file.text for file in loaded}
    named = [path for path in find_named(task, texts, paths) if path in by_path]
    distance_to_named = _make_distance(named)
    nearest = sorted(texts, key=lambda path: (distance_to_named(path), path.count("/"), path))
    needed = [imported for path in named for imported in find_imports(path, texts.get(path, ""), paths)]
    using = find_importers({path: texts[path] for path in nearest}, frozenset(named), paths) if named else []
    kinds = {path: by_path[path].kind for path in texts}
    tests = [path for path in using if kinds[path] == file_kinds.TESTS]
    tests += [path for path in nearest if kinds[path] == file_kinds.TESTS and _is_test_of(path, named)]
    yielded: set[str] = set()
    for why, group in (
        (NAMED, named),
        (RELATED, needed),
        (RELATED, [path for path in using if kinds[path] != file_kinds.TESTS][:_MAX_USERS]),
        (TESTS, tests[:_MAX_USERS]),
        (
            DOCUMENTATION,
            [
                path
                for path in nearest
                if kinds[path] == file_kinds.DOCUMENTATION and _is_relevant_document(path, texts, named)
            ],
        ),
        (REST, nearest),
    ):
        for path in group:
            if path not in yielded and (path in texts or why == NAMED):
                yielded.add(path)
                yield by_path[path], why


def _is_test_of(test: str, named: Sequence[str]) -> bool:
    stem = PurePosixPath(test).stem.lower()
    return any(
        (named_stem := PurePosixPath(path).stem.lower()) and named_stem in stem and len(named_stem) > 2
        for path in named
    )


def _is_relevant_document(document: str, texts: Mapping[str, str], named: Sequence[str]) -> bool:
    """Whether a document is a relevant README or mentions a named file.

    A README is relevant if it is in the project's own folder or in a folder above a named file.
    """
    place = PurePosixPath(document)
    if place.stem.lower() == "readme" and (
        len(place.parts) == 1 or any(path.startswith(f"{place.parent}/") for path in named)
    ):
        return True
    names = {path.removesuffix(PurePosixPath(path).suffix) for path in named} | {
        PurePosixPath(path).name for path in named
    }
    return any(word in texts[document] for word in names if len(word) > 2)


def _make_distance(named: Sequence[str]) -> Callable[[str], int]:
    """Make a function: a file's distance in folders from the nearest named one.

    It returns 0 without named files.
    """
    folders = [PurePosixPath(named_path).parent.parts for named_path in named]

    def distance(path: str) -> int:
        own = PurePosixPath(path).parent.parts
        return min((_folder_distance(own, folder) for folder in folders), default=0)

    return distance


def _folder_distance(a: Sequence[str], b: Sequence[str]) -> int:
    same = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        same += 1
    return len(a) + len(b) - 2 * same

"""The files of a project that a file imports, read from its lines.

A relative import in JavaScript or TypeScript names one path; modules of other languages are matched with the ends of
paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

# The import lines of each language: modules in Python, relative paths in scripts, quoted names in Go and C.
_PYTHON: Final = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*[\w.]*)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n(]*))|import[ \t]+([^\n]+))", re.M
)
_SCRIPT: Final = re.compile(r"""(?:\bfrom|\bimport|\brequire\s*\(|\bimport\s*\()\s*["'](\.[^"']*)["']""")
_GO_BLOCK: Final = re.compile(r'^import\s*(?:\(([^)]*)\)|[\w.]*\s*"([^"]+)")', re.M)
_QUOTED: Final = re.compile(r'"([^"]+)"')
_RUST: Final = re.compile(
    r"^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:use[ \t]+((?:crate|super|self)(?:::\w+)+)|mod[ \t]+(\w+)[ \t]*;)", re.M
)
_JAVA: Final = re.compile(r"^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]+)", re.M)
_C: Final = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
_SCRIPT_ENDS: Final = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".mts", ".vue", ".svelte", ".d.ts")
_FOLDER_FILES: Final = frozenset({"__init__", "index"})
"""Stems of files that are imported by the name of their folder, or by dots alone from files below it."""
_MAX_IMPORTS: Final = 200


class Paths:
    """The files of a project, searchable by the ends of their paths."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.all = frozenset(paths)
        self._named: dict[str, list[str]] = {}
        self._folders: dict[str, list[str]] = {}
        for path in sorted(self.all):
            folder, _, name = path.rpartition("/")
            self._named.setdefault(name, []).append(path)
            self._folders.setdefault(folder, []).append(path)

    def ending_with(self, end: str) -> list[str]:
        """The paths that end with `end`, by whole names."""
        candidates = self._named.get(end.rpartition("/")[2], [])
        return [path for path in candidates if path == end or path.endswith(f"/{end}")]

    def in_folder(self, folder: str) -> list[str]:
        """The files in the folders whose paths end with `folder`."""
        places = [place for place in self._folders if place == folder or place.endswith(f"/{folder}")]
        return [path for place in places for path in self._folders[place]]


def find_imports(path: str, text: str, paths: Paths) -> list[str]:
    """The files of `paths` that the file at `path` imports, in order, without itself.

    Lists at most 200.
    """
    reader = _READERS.get(PurePosixPath(path).suffix.lower())
    if reader is None:
        return []
    imports = dict.fromkeys(other_path for other_path in reader(path, text, paths) if other_path != path)
    return list(imports)[:_MAX_IMPORTS]


def _resolve_path(folder: str, relative: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in relative.split("/"):
        if part == "..":
            parts[-1:] = []
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def _folder_of(path: str) -> str:
    return path.rpartition("/")[0]


def _python_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    """Yield the files that `text` imports: members of a module, or the module if none is a file."""
    for module, listed, line, plain in _PYTHON.findall(text):
        names = listed or line.partition("#")[0]
        if plain:
            for imported in plain.split(","):
                yield from _module_files(imported.split(" as ")[0].strip(), paths)
            continue
        dots = len(module) - len(module.lstrip("."))
        place = module.lstrip(".").replace(".", "/")
        if dots:
            place = _resolve_path(_folder_of(path), "../" * (dots - 1) + place)
        inner = [word for name in names.split(",") if (word := name.strip().split(" ")[0])]
        files = [imported for name in inner for imported in _module_files(f"{place}/{name}" if place else name, paths)]
        yield from files or _module_files(place, paths)


def _module_files(module: str, paths: Paths) -> list[str]:
    place = module.replace(".", "/")
    if not place:
        return []
    exact = [path for path in (f"{place}.py", f"{place}/__init__.py") if path in paths.all]
    if exact or "/" not in place:
        return exact
    return paths.ending_with(f"{place}.py") or paths.ending_with(f"{place}/__init__.py")


def _script_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    for relative in _SCRIPT.findall(text):
        place = _resolve_path(_folder_of(path), relative)
        bare = re.sub(r"\.[mc]?jsx?$", "", place)
        tried = [place, *(bare + end for end in _SCRIPT_ENDS), *(f"{place}/index{end}" for end in _SCRIPT_ENDS)]
        yield from [candidate for candidate in tried if candidate in paths.all][:1]


def _go_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    for block, single in _GO_BLOCK.findall(text):
        for module in [single] if single else _QUOTED.findall(block):
            parts = module.split("/")
            # A Go import begins with the module's name; if no end of it is a folder here, it belongs to another module.
            for n in range(1, len(parts)):
                folder_files = [file for file in paths.in_folder("/".join(parts[n:])) if file.endswith(".go")]
                if folder_files:
                    yield from (file for file in folder_files if not file.endswith("_test.go"))
                    break


def _rust_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    folder = _folder_of(path)
    module_folder = folder if path.endswith(("/mod.rs", "/lib.rs", "/main.rs")) else path.removesuffix(".rs")
    for used, module in _RUST.findall(text):
        if module:
            tried = [f"{place}/{module}{end}" for place in (module_folder, folder) for end in (".rs", "/mod.rs")]
            yield from [candidate for candidate in tried if candidate in paths.all][:1]
            continue
        # The last names of a path may be items of a file: the longest beginning that is a file counts.
        names = used.split("::")[1:]
        for n in range(len(names), 0, -1):
            place = "/".join(names[:n])
            module_files = paths.ending_with(f"{place}.rs") or paths.ending_with(f"{place}/mod.rs")
            if module_files:
                yield from module_files
                break


def _java_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    for name in _JAVA.findall(text):
        place = name.rstrip(".").replace(".", "/")
        yield from paths.ending_with(f"{place}.java") or paths.ending_with(f"{place.rpartition('/')[0]}.java")


def _c_imports(path: str, text: str, paths: Paths) -> Iterator[str]:
    for name in _C.findall(text):
        relative = _resolve_path(_folder_of(path), name)
        files = [relative] if relative in paths.all else paths.ending_with(_resolve_path("", name))
        for file in files:
            yield file
            implementation = file.removesuffix(".h") + ".c"
            if implementation != file and implementation in paths.all:
                yield implementation


_READERS: Final = {
    **dict.fromkeys((".py", ".pyi"), _python_imports),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"), _script_imports),
    ".go": _go_imports,
    ".rs": _rust_imports,
    ".java": _java_imports,
    **dict.fromkeys((".c", ".h"), _c_imports),
}


def find_importers(texts: Mapping[str, str], targets: frozenset[str], paths: Paths) -> list[str]:
    """The files of `texts` (by path) that import one of `targets`."""
    # A text without the name cannot import it, except by dots alone: most files need no closer look.
    stems = {PurePosixPath(target).stem for target in targets} | {
        _folder_of(target).rpartition("/")[2] for target in targets
    }
    stems.discard("")
    folders = tuple(
        target.removesuffix(PurePosixPath(target).name)
        for target in targets
        if PurePosixPath(target).stem in _FOLDER_FILES
    )
    candidates = [
        path
        for path, text in texts.items()
        if path not in targets and (path.startswith(folders) or any(stem in text for stem in stems))
    ]
    return [path for path in candidates if targets & set(find_imports(path, texts[path], paths))]

"""The part of the machine that a confined program sees.

For bubblewrap, and for `enter_namespaces`, it is written as an allow list of paths; for sandbox-exec, as a profile that
hides paths.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

_SYSTEM: Final = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/sys", "/nix/store",
    "/gnu/store", "/snap", "/var/lib/texmf", "/var/cache/fontconfig",
)  # fmt: skip
_KERNEL: Final = ("/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus")
"""Paths that root can write even without any capability."""
_FRESH: Final = ("/tmp", "/var/tmp", "/run")
"""Folders that are empty and temporary for the program."""
_FRESH_MACOS: Final = ("/Users", "/Volumes", "/private/tmp", "/private/var/tmp", "/private/var/folders")
_DEVICES_MACOS: Final = '(regex #"^/dev/(null|zero|tty|ptmx|ttys[0-9]*|fd/.*)$")'
_NAMES_MACOS: Final = '(allow network-outbound (literal "/private/var/run/mDNSResponder"))'
"""Allows looking up host names."""
_TOOLS: Final = (
    ("PYENV_ROOT", ".pyenv", "."), ("RUSTUP_HOME", ".rustup", "."), ("CARGO_HOME", ".cargo", "bin env"),
    ("NVM_DIR", ".nvm", "."), ("FNM_DIR", ".local/share/fnm", "."), ("VOLTA_HOME", ".volta", "bin tools"),
    ("BUN_INSTALL", ".bun", "bin install"), ("DENO_INSTALL", ".deno", "bin"), ("GOPATH", "go", "bin"),
    ("RBENV_ROOT", ".rbenv", "."), ("ASDF_DATA_DIR", ".asdf", "."), ("MISE_DATA_DIR", ".local/share/mise", "."),
    ("SDKMAN_DIR", ".sdkman", "candidates"), ("", ".nodenv", "."), ("", ".jenv", "."), ("", ".ghcup", "bin ghc"),
    ("", ".opam", "."), ("", ".juliaup", "."), ("", ".dotnet", "."), ("", ".elan", "."),
    ("", ".local", "bin lib share/uv share/pipx"), ("", ".config/git", "ignore attributes"),
)  # fmt: skip
"""Tools in the home folder: the variable for another place, the usual place, and the visible parts."""
_CACHES: Final = (
    ("CARGO_HOME", ".cargo", "registry git"), ("GOPATH", "go", "pkg/mod"), ("", ".npm", "_cacache"),
    ("", ".m2", "repository wrapper"), ("", ".gradle", "wrapper"), ("", ".nuget", "packages"),
    ("", ".cache", "pip go-build ms-playwright"),
)  # fmt: skip
"""Download caches. With network access tools download into the fresh home folder instead: caches are read-only."""
_PROGRAMS: Final = ("bin", "sbin")
_PREFIX: Final = ("bin", "sbin", "lib", "lib64", "libexec", "include", "pyvenv.cfg", "share")
"""Folders next to ``bin`` that programs need."""


class View(Struct, frozen=True, kw_only=True):
    """The paths that a program in `root` sees. It can write `root`, except `guarded` paths.

    - `readable`, `links`: what it can read besides.
    - `fresh`: folders that are empty and temporary, and that it can write.
    - `hidden`: paths inside of `root` that are empty for it.
    - `fixed`: folders of `root` that it cannot rename.
    - `mounts`: bind mounts at other paths: source, target, writable.
    """

    root: Path
    readable: tuple[Path, ...] = ()
    links: Mapping[Path, str] = {}
    fresh: tuple[Path, ...] = ()
    hidden: tuple[Path, ...] = ()
    fixed: tuple[Path, ...] = ()
    guarded: tuple[Path, ...] = ()
    mounts: tuple[tuple[Path, Path, bool], ...] = ()

    def options(self) -> list[str]:
        """Options of bubblewrap."""
        places = [path for path in self.readable if path not in self.fresh]
        inner = [path for path in places if any(path.is_relative_to(hidden) for hidden in self.hidden)]
        options: list[str] = []

        def bind(kind: str, paths: Iterable[Path]) -> None:
            for path in paths:
                options.extend((kind, str(path), str(path)))

        bind("--ro-bind", (path for path in places if str(path) in _SYSTEM))
        options += ["--dev", "/dev", "--proc", "/proc"]
        bind("--ro-bind-try", map(Path, _KERNEL))
        for path in self.fresh:
            options += ["--tmpfs", str(path)]
        bind("--ro-bind", (path for path in places if str(path) not in _SYSTEM and path not in inner))
        for path, text in self.links.items():
            options += ["--symlink", text, str(path)]
        bind("--bind", [self.root])
        # They may disappear meanwhile: an editor's lock, for example.
        bind("--bind-try", self.fixed)
        bind("--ro-bind-try", self.guarded)
        for path in self.hidden:
            options += ["--tmpfs", str(path)] if path.is_dir() else ["--ro-bind", "/dev/null", str(path)]
        bind("--ro-bind", inner)
        for source, target, writable in self.mounts:
            options += ["--bind" if writable else "--ro-bind", str(source), str(target)]
        return [*options, "--remount-ro", "/"]

    def profile(self, *, network: bool) -> str:
        """A profile for sandbox-exec; the last matching rule wins. `fresh` and `hidden` cannot be read."""
        written = [self.root, *(source for source, _, writable in self.mounts if writable)]
        read = [*written, *self.readable, *(source for source, _, _ in self.mounts)]
        above = sorted({folder for path in read for folder in path.parents})
        rules = [
            "(version 1)(allow default)(deny file-write*)",
            f"(deny file-read* {_format_rules('subpath', self.fresh)})"
            f"(allow file-read* {_format_rules('subpath', read)})",
            f"(allow file-read-metadata {_format_rules('literal', above)})",
            f"(allow file-write* {_DEVICES_MACOS} {_format_rules('subpath', written)})",
            f"(deny file-read* {_format_rules('subpath', self.hidden)})",
            f"(deny file-write* {_format_rules('subpath', [*self.guarded, *self.hidden])})",
            f"(deny file-write-unlink {_format_rules('literal', self.fixed)})",
            f"(deny network-outbound {_format_rules('subpath', [*self.fresh, Path('/private/var/run')])}){_NAMES_MACOS}"
            if network
            else "(deny network*)",
        ]
        # A rule without paths would apply to all.
        return "".join(rule for rule in rules if not rule.endswith(" )"))


def _format_rules(kind: str, paths: Iterable[Path]) -> str:
    return " ".join(f'({kind} "{_quote_path(path)}")' for path in paths)


def _quote_path(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')


class _Places:
    """Collects readable paths; paths that are already visible are not added again."""

    def __init__(self, root: Path, fresh: Iterable[Path], hidden: Iterable[Path]) -> None:
        self._root = root
        self._empty = {*fresh, *hidden}
        self.readable: list[Path] = []
        self.links: dict[Path, str] = {}

    def is_visible(self, path: Path) -> bool:
        """True if `path`, which is no symlink, is visible."""
        covers = {*self.readable, *self._empty, self._root}
        return next((place not in self._empty for place in (path, *path.parents) if place in covers), False)

    def add(self, path: Path) -> None:
        """Make `path` readable, with the symlinks that lead to it.

        Nothing changes if it contains a folder that must be empty.
        """
        if not path.is_absolute() or not path.exists():
            return
        real = path.resolve()
        if any(place.is_relative_to(real) for place in self._empty):
            return
        for link, text in _find_links(path):
            if not self.is_visible(link):
                self.links[link] = text
        if not self.is_visible(real):
            self.readable.append(real)

    def add_programs(self, folder: Path, home: Path) -> None:
        """Add a folder of programs with the libraries next to it."""
        self.add(folder)
        prefix = folder.parent
        if folder.name in _PROGRAMS and prefix != home:
            # ~/.local/share holds more than programs.
            for name in _PREFIX if prefix != home / ".local" else _PREFIX[:-1]:
                self.add(prefix / name)


def _find_links(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the symlinks that lead to the existing `path`."""
    for part in (*reversed(path.parents), path):
        if part.is_symlink():
            text = os.readlink(part)
            yield part, text
            yield from _find_links(Path(os.path.normpath(part.parent / text)) / path.relative_to(part))
            return


def build_view(
    root: Path, home: Path, env: Mapping[str, str], *, network: bool = False, extra_paths: Iterable[str | Path] = ()
) -> View:
    """Build the view of a program in `root`, for a user with this `home` and environment.

    With `network`, download caches are left out and ``/etc/resolv.conf`` is added.
    """
    macos = sys.platform == "darwin"
    usual = (Path(place).resolve() for place in (_FRESH_MACOS if macos else _FRESH))
    home = home.resolve()
    fresh = [place for place in dict.fromkeys((*usual, home)) if not place.is_relative_to(root) and place != Path("/")]
    # The working folder is the home folder or contains it.
    dotted = sorted(home.glob(".*")) if home.is_relative_to(root) else ()
    hidden = [path for path in dotted if not path.is_symlink()]
    places = _Places(root, fresh, hidden)
    for top in () if macos else (*_SYSTEM, *(entry.path for entry in os.scandir("/") if entry.is_symlink())):
        if not Path(top).is_symlink():
            places.add(Path(top))
        else:
            places.links[Path(top)] = os.readlink(top)
    for variable, usual_place, names in (*_TOOLS, *(() if network else _CACHES)):
        for name in names.split():
            places.add(Path(env.get(variable) or home / usual_place) / name)
    for prefix in {sys.prefix, sys.base_prefix}:
        places.add_programs(Path(prefix, "bin"), home)
    for folder in map(Path, env.get("PATH", "").split(os.pathsep)):
        _add_path_folder(places, folder, root, home)
    for config in root.glob("*/pyvenv.cfg"):
        for python in (config.parent / "bin").glob("python*"):
            if any((python.resolve().parent.parent / "lib").glob("python*")):
                _add_program(places, python, home)
    for place in extra_paths:
        places.add(Path(place).expanduser())
    if network:
        places.add(Path("/etc/resolv.conf"))
    return View(
        root=root,
        readable=tuple(places.readable),
        links=places.links,
        fresh=tuple(fresh),
        hidden=tuple(hidden),
    )


def _add_path_folder(places: _Places, folder: Path, root: Path, home: Path) -> None:
    """Add a folder of PATH, and the folders that its symlinked programs are in."""
    if not folder.is_absolute() or not folder.is_dir() or folder.resolve().is_relative_to(root):
        return
    places.add_programs(folder, home)
    for entry in os.scandir(folder):
        if entry.is_symlink():
            _add_program(places, Path(entry.path), home)


def _add_program(places: _Places, link: Path, home: Path) -> None:
    # realpath, because links may form a cycle.
    real = Path(os.path.realpath(link))
    if places.is_visible(real) or not os.access(real, os.X_OK) or not real.is_file():
        return
    if real.parent.name in _PROGRAMS:
        places.add_programs(real.parent, home)
    places.add(link)

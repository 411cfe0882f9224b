"""Give commands a copy of the git repository, and import their changes as untrusted data.

Only objects, references, HEAD and index entries are imported, and only if the changed ones are still the same in the
repository as when the command started (an index entry may also have the new value already).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from msgspec import Struct

from ctxtui.core.errors import CtxtuiError

_GIT_TIMEOUT_S: Final = 120
_MOUNT_POINT: Final = Path("/run/ctxtui/git")
_COPIED: Final = ("packed-refs", "config", "shallow", "refs", "reftable", "logs", "info")
_OPERATIONS: Final = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer")
"""The state of a merge or the like in progress."""
_OWN: Final = ("HEAD", "index", "config.worktree", "info/sparse-checkout", "logs/HEAD", "MERGE_MSG", *_OPERATIONS)
_READ_ONLY: Final = ("hooks", "modules", "lfs")
"""Folders that are mounted read-only, or linked if nothing can be mounted."""
_REFERENCE: Final = re.compile(r"refs/(heads|tags|notes|remotes)/(?!-)[!-~\x80-\U0010ffff]+|refs/stash")
"""References that a command may change; a name must not begin with "-"."""
_HEX: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SETTINGS: Final = ("[gc]\n\tauto = 0", "[maintenance]\n\tauto = false", "[core]\n\tfsmonitor = false",
                    "[commit]\n\tgpgSign = false", "[tag]\n\tgpgSign = false",
                    "[transfer]\n\tunpackLimit = 1000000", "[fetch]\n\tunpackLimit = 1000000")  # fmt: skip
"""Settings of the copy: objects stay loose, so that all are found; signing is off, because no key is visible."""
_GIT: Final = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
_SHELL_GIT: Final = " ".join(_GIT)
_REFLOG_MESSAGE: Final = "by a command of ctxtui's agent"
_HEAD: Final = f"{_SHELL_GIT} symbolic-ref -q HEAD || {_SHELL_GIT} rev-parse -q --verify HEAD"
_REFERENCE_FORMAT: Final = "%(objectname) %(refname)"
_STATE: Final = f"""set -e
{_SHELL_GIT} for-each-ref --format='{_REFERENCE_FORMAT}' > "$0/references"
{{ {_HEAD}; }} > "$0/head"
{_SHELL_GIT} ls-files -z --stage > "$0/index"
"""
"""A shell script that writes the state of a repository into the folder ``$0``."""
_PACK: Final = 'git pack-objects -q --stdout --window=0 < "$0/objects" > "$0/pack"'
"""A shell script that packs the objects listed in the folder ``$0``."""


class _State(Struct, frozen=True):
    references: dict[str, str]
    head: str
    index: dict[bytes, tuple[bytes, ...]]


class RepositoryCopy:
    """A copy in the folder `scratch` of the repository of the work tree `root`.

    - `own`, `common`: its git folders, as returned by `find_repository`.
    - `mounted`: the sandbox mounts it in place of the original (`mounts`); otherwise git finds it by `env`.
    """

    def __init__(self, root: Path, own: Path, common: Path, scratch: Path, *, mounted: bool = True) -> None:
        self._root = root
        self._own = own
        self._common = common
        self._copy = scratch / "git"
        self._is_file = (root / ".git").is_file()
        self._place = (_MOUNT_POINT if self._is_file else root / ".git") if mounted else self._copy
        self._mounted = mounted
        self._pointer = scratch / "pointer"
        self.env = {} if mounted else {"GIT_DIR": str(self._copy), "GIT_WORK_TREE": str(root)}
        folders = {name: common / name for name in _READ_ONLY if (common / name).is_dir()}
        self._read_only = {"original": common, **folders}
        """Folders of the repository, by their names in the copy."""
        self._before = self._read_state(self._export_original(scratch / "before"))
        self._copy_files()

    @property
    def mounts(self) -> tuple[tuple[Path, Path, bool], ...]:
        """The mounts for a confined program: source, target, and whether it is writable."""
        entries = [(self._copy, self._place, True)]
        if self._mounted:
            entries += [(source, self._place / name, False) for name, source in self._read_only.items()]
        return (*entries, *([(self._pointer, self._root / ".git", False)] if self._is_file else []))

    def export_command(self) -> list[str]:
        """Prepare the export. Return the command that writes the copy's state, which must run confined."""
        objects = self._copy / "objects"
        names = [
            folder.name + entry.name
            for folder in objects.iterdir()
            if len(folder.name) == 2 and folder.is_dir()
            for entry in os.scandir(folder)
            if _HEX.fullmatch(folder.name + entry.name)
        ]
        # A command may have made it a link.
        out = self._copy / "out"
        if out.is_symlink() or out.exists():
            out.unlink() if out.is_symlink() or not out.is_dir() else shutil.rmtree(out)
        out.mkdir()
        (out / "objects").write_text("".join(f"{name}\n" for name in names))
        return ["/bin/sh", "-c", _STATE + (_PACK if names else ""), str(self._place / "out")]

    def import_changes(self) -> str:
        """Import the changes that `export_command` exported; return why it failed, or "".

        After a failure, a part of them may be imported. It runs git: call it in a worker.
        """
        extent = "not"
        try:
            if (self._copy / "out").is_symlink():
                raise ValueError("its export was replaced by a link")
            after = self._read_state(self._copy / "out")
            index_update, reference_update = self._index_update(after), self._reference_update(after)
            head_update = self._head_update(after.head)
            operation = next((name for name in _OPERATIONS if (self._own / name).exists()), "")
            if operation and (reference_update or head_update):
                raise ValueError(f"an operation of git is in progress ({operation}), and only the user can continue it")
            self._import_objects(self._copy / "out" / "pack")
            # The index first: it is most often locked, and an old index under new commits looks like their reversal.
            if index_update:
                self._run_git("update-index", "-z", "--index-info", stdin=index_update)
                extent = "only partly"
            if reference_update:
                arguments = ("update-ref", "-m", _REFLOG_MESSAGE, "--create-reflog", "--stdin")
                self._run_git(*arguments, stdin=reference_update)
                extent = "only partly"
            if head_update:
                self._run_git(*head_update)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            return f"{extent} copied into the repository: {_error_reason(error)}"
        return ""

    def _copy_files(self) -> None:
        self._copy.mkdir()
        parts = [(self._common, name) for name in _COPIED] + [(self._own, name) for name in _OWN]
        for folder, name in parts:
            source, target = folder / name, self._copy / name
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.exists():
                target.parent.mkdir(exist_ok=True)
                shutil.copy(source, target)
        for source in self._own.glob("sharedindex.*"):
            shutil.copy(source, self._copy / source.name)
        for name, source in self._read_only.items():
            (self._copy / name).mkdir() if self._mounted else (self._copy / name).symlink_to(source)
        (self._copy / "objects" / "info").mkdir(parents=True)
        # A relative path: one with a newline or a leading quote cannot be written there.
        (self._copy / "objects" / "info" / "alternates").write_text("../original/objects\n")
        if self._is_file:
            self._pointer.write_text(f"gitdir: {self._place}\n")
        settings = [*_SETTINGS]
        # The home folder, which holds most users' git configuration, is not visible.
        with suppress(subprocess.CalledProcessError):
            for line in self._run_git("config", "--get-regexp", r"^user\.(name|email)$").decode().splitlines():
                name, _, value = line.partition(" ")
                settings.append(f"[user]\n\t{name.removeprefix('user.')} = {json.dumps(value, ensure_ascii=False)}")
        with (self._copy / "config").open("a", encoding="utf-8") as file:
            file.write("".join(f"\n{line}\n" for line in settings))

    def _export_original(self, out: Path) -> Path:
        out.mkdir()
        self._run_checked(["/bin/sh", "-c", _STATE, str(out)])
        return out

    def _read_state(self, out: Path) -> _State:
        references = _parse_references(_read_regular(out / "references"))
        index = _parse_index(_read_regular(out / "index"))
        return _State(references, _read_regular(out / "head").decode("utf-8").strip(), index)

    def _import_objects(self, pack: Path) -> None:
        if pack.exists() or pack.is_symlink():
            with os.fdopen(_open_regular(pack), "rb") as file:
                self._run_checked([*_GIT, "unpack-objects", "-q", "--strict"], stdin=file)

    def _reference_update(self, after: _State) -> bytes:
        """Input of ``git update-ref`` for the references that the command changed.

        Raises `ValueError` if it may not change one of them, or one was changed in the repository meanwhile.
        """
        old, new = self._before.references, after.references
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        if not changed:
            return b""
        lines, elsewhere = [], self._other_branches()
        now = _parse_references(self._run_git("for-each-ref", f"--format={_REFERENCE_FORMAT}"))
        for name in changed:
            if not _REFERENCE.fullmatch(name):
                raise ValueError(f"{name} is no reference that a command may change")
            if not _HEX.fullmatch(new.get(name, "0" * 40)):
                raise ValueError(f"{name} holds no object's id")
            if name in elsewhere:
                raise ValueError(f"{name} is checked out in another work tree")
            if now.get(name) != old.get(name):
                raise ValueError(f"{name} was changed meanwhile")
            was = old.get(name) or "0" * len(new[name])
            lines.append(f"update {name} {new[name]} {was}\n" if name in new else f"delete {name} {was}\n")
        return "".join(lines).encode()

    def _other_branches(self) -> set[str]:
        lines = self._run_git("worktree", "list", "--porcelain").decode("utf-8", "replace").split("\n")
        branches = [line.removeprefix("branch ") for line in lines if line.startswith("branch ")]
        # The list includes this work tree.
        with suppress(ValueError):
            branches.remove(self._before.head)
        return set(branches)

    def _head_update(self, head: str) -> tuple[str, ...]:
        """Arguments of git that move HEAD to `head`; () if the command did not move it.

        Raises `ValueError` if it was moved meanwhile.
        """
        if head in ("", self._before.head):
            return ()
        if self._run_checked(["/bin/sh", "-c", _HEAD]).decode().strip() != self._before.head:
            raise ValueError("HEAD was changed meanwhile")
        if head.startswith("refs/heads/") and _REFERENCE.fullmatch(head):
            return ("symbolic-ref", "-m", _REFLOG_MESSAGE, "HEAD", head)
        if _HEX.fullmatch(head):
            return ("update-ref", "-m", _REFLOG_MESSAGE, "--no-deref", "HEAD", head)
        raise ValueError("HEAD names no branch and no commit")

    def _index_update(self, after: _State) -> bytes:
        """Input of ``git update-index`` for entries that the command changed; git checks each path.

        Raises `ValueError` if one of them was changed in the repository meanwhile.
        """
        old, new = self._before.index, after.index
        changed = sorted(_changed_paths(old, new))
        if not changed:
            return b""
        now = _parse_index(self._run_git("ls-files", "-z", "--stage"))
        meanwhile = {path for path in _changed_paths(old, now) if now.get(path) != new.get(path)}
        # An entry ``a`` replaces all of ``a/…``, and ``a/b`` replaces ``a``.
        clash = (meanwhile & _with_folders(changed)) | (_with_folders(meanwhile) & set(changed))
        if clash:
            raise ValueError(f"the index entry of {min(clash).decode('utf-8', 'replace')} was changed meanwhile")
        sample = (new.get(changed[0]) or old[changed[0]])[0]
        removal = b"0 " + b"0" * len(sample.split()[1])
        lines = [line for path in changed for line in (removal + b"\t" + path, *new.get(path, ()))]
        return b"".join(line + b"\0" for line in lines)

    def _run_git(self, *arguments: str, stdin: bytes = b"") -> bytes:
        return self._run_checked([*_GIT, *arguments], data=stdin)

    def _run_checked(self, argv: Sequence[str], *, stdin: IO[bytes] | None = None, data: bytes = b"") -> bytes:
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        input_options: dict[str, Any] = {"stdin": stdin} if stdin else {"input": data}
        done = subprocess.run(
            argv, cwd=self._root, env=env, capture_output=True, check=True, timeout=_GIT_TIMEOUT_S, **input_options
        )
        return bytes(done.stdout)


def _parse_references(listing: bytes) -> dict[str, str]:
    lines = (line.partition(" ") for line in listing.decode("utf-8").splitlines())
    return {name: digest for digest, _, name in lines}


def _parse_index(listing: bytes) -> dict[bytes, tuple[bytes, ...]]:
    """The entries of each path in ``git ls-files -z --stage``; in a merge there are several."""
    index: dict[bytes, tuple[bytes, ...]] = {}
    for entry in filter(None, listing.split(b"\0")):
        path = entry.partition(b"\t")[2]
        index[path] = (*index.get(path, ()), entry)
    return index


def _changed_paths(old: Mapping[bytes, object], new: Mapping[bytes, object]) -> set[bytes]:
    return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


def _with_folders(paths: Iterable[bytes]) -> set[bytes]:
    return {path[:end] for path in paths for end in (len(path), *(n for n, c in enumerate(path) if c == ord("/")))}


def copy_repository(root: Path, scratch: Path, *, mounted: bool) -> RepositoryCopy | None:
    """Copy the repository of the folder `root`; None if it has none.

    It runs git: call it in a worker. Raises `CtxtuiError`.
    """
    try:
        folders = find_repository(root)
        return RepositoryCopy(root, *folders, scratch, mounted=mounted) if folders else None
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise CtxtuiError(
            f"the repository is read-only, because it cannot be copied: {_error_reason(error)}"
        ) from error


def find_repository(root: Path) -> tuple[Path, Path] | None:
    """The git folders of the work tree `root`: its own, and the common one of all work trees.

    None if there are none, if ``.git`` is a link, or a file of anything but a linked work tree (a submodule).
    """
    own = common = root / ".git"
    if own.is_symlink():
        return None
    with suppress(OSError, ValueError):
        if own.is_file():
            own = (root / own.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
            back = (own / (own / "gitdir").read_text("utf-8").strip()).resolve()
            common = (own / (own / "commondir").read_text("utf-8").strip()).resolve()
            if back != root / ".git" or own.parent.parent != common:
                return None
        elif (own / "commondir").exists():
            return None
        if (common / "objects").is_dir() and (common / "config").is_file() and (own / "HEAD").is_file():
            return own, common
    return None


def _error_reason(error: Exception) -> str:
    output = getattr(error, "stderr", None) or str(error)
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else output
    return " ".join(text.split())[:500]


def mentions_git(argv: Sequence[str]) -> bool:
    """Whether ``git`` is a word in `argv`: programs that run git unnamed (make) are not found."""
    return any(re.search(r"(?<![\w.-])git(?![\w.-])", word) for word in argv)


def _open_regular(path: Path) -> int:
    """Open a regular file for reading. Raises `OSError` for anything else."""
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(0, f"{path.name} is not a file")
    return file


def _read_regular(path: Path) -> bytes:
    with os.fdopen(_open_regular(path), "rb") as file:
        return file.read()

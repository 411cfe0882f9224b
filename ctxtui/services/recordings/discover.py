"""Finding recorded sessions by names and file times alone: nothing is opened, thousands of files take milliseconds.

Where a session ran is asked later: Codex writes it on the first line of the file.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Final

from ctxtui.services.config.projects import is_folder_of, related
from ctxtui.services.recordings.database_address import parted

CLAUDE_CODE: Final = "claude code"
CODEX: Final = "codex"
SAMPLE: Final = "ctxtui"

_UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundRecording:
    """A recording as its name and file status tell it.

    `id` is what `ctxtui show` accepts: the session's uuid where the name holds one, else the file's stem. `cwd` is
    where the session ran, "" where only the file's content says it (Codex). `group` is ``here`` (this directory, its
    repository, its worktrees), ``elsewhere`` or ``samples``. `mtime` in Unix seconds, `size` in bytes.
    """

    path: Path
    source: str
    _: KW_ONLY
    id: str
    size: int
    mtime: float
    group: str = "elsewhere"
    cwd: str = ""
    project: str = ""
    """Claude Code's folder name: the working directory with everything but letters and digits as ``-``."""

    def live(self, now: float, seconds: float) -> bool:
        """Whether the session was written to within the last `seconds`. One that waits for its user is not: whether its
        client runs is for `owners` to say."""
        return self.group != "samples" and now - self.mtime <= seconds


def claude_root(env: Mapping[str, str]) -> Path:
    """Claude Code's folder of projects (`CLAUDE_CONFIG_DIR`, else ``~/.claude``)."""
    named = env.get("CLAUDE_CONFIG_DIR")
    return (Path(named).expanduser() if named else _home(env) / ".claude") / "projects"


def codex_root(env: Mapping[str, str]) -> Path:
    """Codex's own folder (`CODEX_HOME`, else ``~/.codex``)."""
    named = env.get("CODEX_HOME")
    return Path(named).expanduser() if named else _home(env) / ".codex"


def _home(env: Mapping[str, str]) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))


def find(cwd: Path, env: Mapping[str, str] | None = None, samples: tuple[Path, ...] = ()) -> list[FoundRecording]:
    """Every recording of the clients we know, and `samples`, newest first.

    A folder that is absent or may not be read is passed over; so is a file that vanishes meanwhile.
    """
    env = os.environ if env is None else env
    found = [*_claude(claude_root(env), related(cwd, env)), *_codex(codex_root(env)), *_samples(samples)]
    found.sort(key=lambda f: (-f.mtime, str(f.path)))
    return found


def _claude(root: Path, around: tuple[Path, ...]) -> Iterator[FoundRecording]:
    for folder in _entries(root):
        if not _is_dir(folder):
            continue
        home = next((place for place in around if is_folder_of(folder.name, place)), None)
        for entry in _entries(folder.path):
            # A subagent's file belongs to its session, which lists it.
            # So does an index of bodies, where the client writes them here.
            if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-") and entry.name != "index.jsonl":
                group = "here" if home else "elsewhere"
                yield from _seen(entry, CLAUDE_CODE, group, str(home or ""), folder.name)


def _codex(root: Path) -> Iterator[FoundRecording]:
    for name in ("sessions", "archived_sessions"):
        for entry in _walk(root / name, 4):
            if entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
                yield from _seen(entry, CODEX)


def _samples(paths: tuple[Path, ...]) -> Iterator[FoundRecording]:
    return filter(None, (seen_at(path, "samples") for path in paths))


def seen_at(path: Path, group: str = "elsewhere") -> FoundRecording | None:
    """The recording at `path`; None where there is no file."""
    file, session = parted(path)
    try:
        status = file.stat()
    except OSError:
        return None
    id_ = session or id_of(path.name)
    return FoundRecording(path, "", id=id_, size=status.st_size, mtime=status.st_mtime, group=group)


def _seen(
    entry: os.DirEntry[str], source: str, group: str = "elsewhere", cwd: str = "", project: str = ""
) -> Iterator[FoundRecording]:
    try:
        status = entry.stat()
    except OSError:
        return
    yield FoundRecording(
        Path(entry.path),
        source,
        id=id_of(entry.name),
        size=status.st_size,
        mtime=status.st_mtime,
        group=group,
        cwd=cwd,
        project=project,
    )


def id_of(name: str) -> str:
    """The id in a recording's file name: its last uuid, else the name without endings."""
    uuids = _UUID.findall(name)
    if uuids:
        return str(uuids[-1]).lower()
    return name.removesuffix(".jsonl").removesuffix(".json").removesuffix(".ctxtui")


def _entries(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _walk(folder: Path | str, depth: int) -> Iterator[os.DirEntry[str]]:
    for entry in _entries(folder):
        if depth and _is_dir(entry):
            yield from _walk(entry.path, depth - 1)
        else:
            yield entry


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


_HEAD: Final = 1 << 16
_CWD: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")')


def ran_in(path: Path) -> str:
    """The working directory that the head of the rollout `path` names; "" where it names none or cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.readline(_HEAD)
    except OSError:
        return ""
    found = _CWD.search(head)
    try:
        return str(json.loads(found[1])) if found else ""
    except ValueError:
        return ""


def placed(found: Iterable[FoundRecording], around: Iterable[Path]) -> Iterator[FoundRecording]:
    """`found` in the same order, those of Codex with their directory and, in or below one of `around`, as ``here``.

    Each rollout's first line is read when it is asked for: take no more than needed.
    """
    places = [str(place) for place in around]
    for one in found:
        if one.source == CODEX and not one.cwd:
            cwd = ran_in(one.path)
            inside = any(cwd == place or cwd.startswith(place.rstrip("/") + "/") for place in places)
            one = replace(one, cwd=cwd, group="here" if inside else one.group)
        yield one

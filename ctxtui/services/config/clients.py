"""The clients whose sessions are found on this machine: where each keeps them, what moves them, what runs.

A new client is one record of `CLIENTS`; no other module names a client. Each record says what its program's own source
or documents say (looked up in November 2026 in the versions of facts §13).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Final

from msgspec import Struct

from ctxtui.services.config.paths import attached_dir
from ctxtui.services.config.projects import is_own_folder, is_worktree_folder

Env = Mapping[str, str]


class RecordingPlace(Struct, frozen=True):
    """Where recordings stand: below `root`, at `pattern`.

    The pattern's segments are those of a shell, ``**`` stands for up to four folders. Names that fit `but` are parts of
    another session. The folder at the first wildcard, where there is one, is the project's. A `database` holds many
    sessions.
    """

    root: Path
    pattern: str
    but: tuple[str, ...] = ()
    database: bool = False

    @property
    def folder(self) -> Path:
        """The folder in which they stand, or their folders: `root` and what of the pattern has no wildcard."""
        folders = self.pattern.split("/")[:-1]
        plain = takewhile(lambda name: "*" not in name, folders)
        return self.root.joinpath(*plain)


def _never(folder: str, directory: Path) -> bool:
    return False


class KnownClient(Struct, frozen=True, kw_only=True):
    """A program that records what it says to models.

    `name` switches it off in the configuration, `source` is the name of its format (`transcripts/registry`), `places`
    are where it looks itself, under the `variables` of an environment. Where one session stands in two places
    (`copies`), the first one counts. `beside` gives the files that it leaves in a project's folder.

    Which directory a session ran in: `named_for` tells whether a project's folder is the one of a directory,
    `worktree_of` whether it is that of a worktree which the client made inside it, `told_in` names a file in the folder
    that holds the directory; else the recording says it. A recording with a member `began_by` at its head is a part of
    another session. `projects` is a file whose table ``projects`` has directories as keys. `plain` recordings hold
    every text as a JSON string. Its recordings hold whole requests since the version `whole_since`; versions before
    write them elsewhere where the variable `whole_by` is ``file:DIR``. `commands` and `packages` are how its process is
    called.
    """

    name: str
    source: str
    places: Callable[[Env], Iterable[RecordingPlace]]
    variables: tuple[str, ...] = ()
    copies: bool = False
    beside: Callable[[Env, Path], Iterable[Path]] | None = None
    named_for: Callable[[str, Path], bool] = _never
    worktree_of: Callable[[str, Path], bool] = _never
    told_in: str = ""
    began_by: str = ""
    projects: Callable[[Env], Path] | None = None
    plain: bool = False
    whole_since: tuple[int, int, int] | None = None
    whole_by: str = ""
    commands: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()

    @property
    def by_project(self) -> bool:
        """Whether the folder at the first wildcard of its places is a project's."""
        return self.named_for is not _never or bool(self.told_in)


def user_home(env: Env) -> Path:
    """The user's home folder under an environment."""
    return Path(env.get("HOME") or os.path.expanduser("~"))


def _moved(env: Env, variable: str, *usual: str) -> Path:
    """The folder that `variable` names, else the `usual` one in the home folder."""
    named = env.get(variable)
    return Path(named).expanduser() if named else user_home(env).joinpath(*usual)


def _config(env: Env, app: str) -> Path:
    """The folder of an app's configuration, as click and platformdirs choose it."""
    if sys.platform == "darwin":
        return user_home(env) / "Library" / "Application Support" / app
    return _moved(env, "XDG_CONFIG_HOME", ".config") / app


# Where each keeps its own


def _claude_code(env: Env) -> Iterator[RecordingPlace]:
    homes = [_moved(env, "CLAUDE_CONFIG_DIR", ".claude")]
    if not env.get("CLAUDE_CONFIG_DIR"):
        # Some versions of 2025 wrote there.
        homes.append(_moved(env, "XDG_CONFIG_HOME", ".config") / "claude")
    for home in homes:
        # A subagent's file belongs to its session, which lists it; the index is one of bodies (facts §13.1).
        yield RecordingPlace(home, "projects/*/*.jsonl", but=("agent-*", "index.jsonl"))


def _codex(env: Env) -> Iterator[RecordingPlace]:
    for folder in ("sessions", "archived_sessions"):
        yield RecordingPlace(_moved(env, "CODEX_HOME", ".codex"), f"{folder}/**/rollout-*.jsonl")


def _opencode(env: Env) -> Iterator[RecordingPlace]:
    data = _moved(env, "XDG_DATA_HOME", ".local", "share") / "opencode"
    named = env.get("OPENCODE_DB", "")
    if named and named != ":memory:":
        file = data / named
        yield RecordingPlace(file.parent, file.name, database=True)
    # One for each channel: opencode-beta.db; the JSON files of versions before the database stay where they were.
    yield RecordingPlace(data, "opencode*.db", database=True)
    yield RecordingPlace(data, "storage/session/*/ses_*.json")


def _pi(env: Env) -> Iterator[RecordingPlace]:
    if named := env.get("PI_CODING_AGENT_SESSION_DIR"):
        yield RecordingPlace(Path(named).expanduser(), "*.jsonl")
    yield RecordingPlace(_moved(env, "PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions/*/*.jsonl")


def _gemini_cli(env: Env) -> Iterator[RecordingPlace]:
    home = _moved(env, "GEMINI_CLI_HOME")
    for pattern in ("session-*.jsonl", "session-*.json"):
        yield RecordingPlace(home / ".gemini", f"tmp/*/chats/{pattern}")


def _qwen_code(env: Env) -> Iterator[RecordingPlace]:
    named = env.get("QWEN_RUNTIME_DIR")
    home = Path(named).expanduser() if named else _moved(env, "QWEN_HOME", ".qwen")
    yield RecordingPlace(home, "projects/*/chats/*.jsonl")


def _kimi_code(env: Env) -> Iterator[RecordingPlace]:
    # Files of subagents stand beside that of the main agent, whose session they belong to.
    yield RecordingPlace(_moved(env, "KIMI_CODE_HOME", ".kimi-code"), "sessions/*/*/agents/main/wire.jsonl")


def _continue(env: Env) -> Iterator[RecordingPlace]:
    yield RecordingPlace(_moved(env, "CONTINUE_GLOBAL_DIR", ".continue"), "sessions/*.json", but=("sessions.json",))


def _goose(env: Env) -> Iterator[RecordingPlace]:
    root = env.get("GOOSE_PATH_ROOT")
    data = Path(root) / "data" if root else _moved(env, "XDG_DATA_HOME", ".local", "share") / "goose"
    # Its logs of the newest requests (`llm_request.*.jsonl`) are of the same calls.
    yield RecordingPlace(data / "sessions", "sessions.db", database=True)


def _copilot_cli(env: Env) -> Iterator[RecordingPlace]:
    homes = [_moved(env, "COPILOT_HOME", ".copilot")]
    if env.get("XDG_STATE_HOME") and not env.get("COPILOT_HOME"):
        # Before 1.0; later versions move what is there.
        homes.append(Path(env["XDG_STATE_HOME"]) / ".copilot")
    for home in homes:
        yield RecordingPlace(home, "session-state/*/events.jsonl")
        yield RecordingPlace(home, "session-state/*.jsonl")


def _llm(env: Env) -> Iterator[RecordingPlace]:
    named = env.get("LLM_USER_PATH")
    folder = Path(named).expanduser() if named else _config(env, "io.datasette.llm")
    yield RecordingPlace(folder, "logs.db", database=True)


def _mini_swe_agent(env: Env) -> Iterator[RecordingPlace]:
    named = env.get("MSWEA_GLOBAL_CONFIG_DIR")
    yield RecordingPlace(Path(named).expanduser() if named else _config(env, "mini-swe-agent"), "*.traj.json")


_AIDER_OPTION: Final = r"(?m)^(?:chat|llm)-history-file\s*:[ \t]*(.+?)[ \t]*(?: #.*)?$"


def _aider(env: Env, folder: Path) -> Iterator[Path]:
    """The chat history of a project and the log of requests: as they are usually called, or as aider was told by its
    variables or the project's configuration."""
    # The log is read with the history beside it, as one session.
    history = folder / ".aider.chat.history.md"
    yield history if history.exists() else folder / ".aider.llm.history"
    for variable in ("AIDER_CHAT_HISTORY_FILE", "AIDER_LLM_HISTORY_FILE"):
        if named := env.get(variable):
            yield folder / Path(named).expanduser()
    try:
        told = (folder / ".aider.conf.yml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for named in re.findall(_AIDER_OPTION, told):
        yield folder / Path(named.strip("\"'")).expanduser()


def _attached(env: Env) -> Iterator[RecordingPlace]:
    yield RecordingPlace(attached_dir(env), "*.jsonl")


def _pi_names(folder: str, directory: Path) -> bool:
    return folder == f"--{re.sub(r'[/:]', '-', str(directory).lstrip('/'))}--"


def _gemini_names(folder: str, directory: Path) -> bool:
    # Before it kept the directory in a file. Imported here: `hashlib` loads OpenSSL.
    from hashlib import sha256

    return folder == sha256(str(directory).encode("utf-8", "surrogateescape")).hexdigest()


CLIENTS: Final[tuple[KnownClient, ...]] = (
    KnownClient(
        name="claude-code", source="claude code", places=_claude_code, variables=("CLAUDE_CONFIG_DIR",),
        named_for=is_own_folder, worktree_of=is_worktree_folder, plain=True,
        whole_since=(2, 1, 300), whole_by="OTEL_LOG_RAW_API_BODIES",
        commands=frozenset({"claude"}), packages=("claude-code",),
        projects=lambda env: (
            Path(env["CLAUDE_CONFIG_DIR"]).expanduser() if env.get("CLAUDE_CONFIG_DIR") else user_home(env)
        ) / ".claude.json",
    ),
    KnownClient(
        name="codex", source="codex", places=_codex, variables=("CODEX_HOME",), plain=True,
        commands=frozenset({"codex"}), packages=("openai/codex",),
        projects=lambda env: _moved(env, "CODEX_HOME", ".codex") / "config.toml",
    ),
    KnownClient(
        name="opencode", source="opencode", places=_opencode, variables=("XDG_DATA_HOME", "OPENCODE_DB"), copies=True,
        began_by="parentID",         commands=frozenset({"opencode"}), packages=("opencode-ai",),
    ),
    KnownClient(
        name="pi", source="pi", places=_pi, variables=("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
        named_for=_pi_names, commands=frozenset({"pi"}), packages=("pi-coding-agent",),
    ),
    KnownClient(
        name="gemini-cli", source="gemini cli", places=_gemini_cli, variables=("GEMINI_CLI_HOME",), copies=True,
        named_for=_gemini_names, told_in=".project_root", commands=frozenset({"gemini"}), packages=("gemini-cli",),
        projects=lambda env: _moved(env, "GEMINI_CLI_HOME") / ".gemini" / "projects.json",
    ),
    KnownClient(
        name="qwen-code", source="qwen code", places=_qwen_code, variables=("QWEN_HOME", "QWEN_RUNTIME_DIR"),
        commands=frozenset({"qwen"}), packages=("@qwen-code/qwen-code",),
    ),
    KnownClient(
        name="kimi-code", source="kimi code", places=_kimi_code, variables=("KIMI_CODE_HOME",),
        commands=frozenset({"kimi"}), packages=("@moonshot-ai/kimi-code",),
    ),
    KnownClient(
        name="continue", source="continue cli", places=_continue, variables=("CONTINUE_GLOBAL_DIR",),
        commands=frozenset({"cn"}), packages=("@continuedev/cli",),
    ),
    KnownClient(
        name="goose", source="goose", places=_goose, variables=("GOOSE_PATH_ROOT", "XDG_DATA_HOME"), copies=True,
        commands=frozenset({"goose"}), packages=("@aaif/goose",),
    ),
    KnownClient(
        name="copilot-cli", source="copilot cli", places=_copilot_cli, variables=("COPILOT_HOME",), copies=True,
        commands=frozenset({"copilot"}), packages=("@github/copilot",),
    ),
    KnownClient(
        name="llm", source="llm", places=_llm, variables=("LLM_USER_PATH", "XDG_CONFIG_HOME"),
        commands=frozenset({"llm"}),
    ),
    KnownClient(
        name="aider", source="aider", places=lambda env: (), beside=_aider, commands=frozenset({"aider"}),
        variables=("AIDER_CHAT_HISTORY_FILE", "AIDER_LLM_HISTORY_FILE"),
    ),
    KnownClient(
        name="mini-swe-agent", source="mini-swe-agent", places=_mini_swe_agent, commands=frozenset({"mini"}),
        variables=("MSWEA_GLOBAL_CONFIG_DIR", "XDG_CONFIG_HOME"),
    ),
    KnownClient(name="attached", source="attached", places=_attached, variables=("CTXTUI_HOME", "XDG_DATA_HOME")),
)  # fmt: skip
"""Every client, in the order in which they are told of."""

_BY_SOURCE: Final = {one.source: one for one in CLIENTS}


def client_of(source: str) -> KnownClient | None:
    """The client whose format is called `source`; None for formats of no client."""
    return _BY_SOURCE.get(source)


def whole_requests_by(source: str, version: str) -> str:
    """The variable that makes this version of a client write down the requests that its recordings lack; "" where they
    hold them, where there is no such variable, or where the version is not known."""
    client, found = client_of(source), re.match(r"(\d+)\.(\d+)\.(\d+)", version)
    if client is None or client.whole_since is None or found is None:
        return ""
    return client.whole_by if tuple(map(int, found.groups())) < client.whole_since else ""


def switched_on(clients: Mapping[str, bool]) -> tuple[KnownClient, ...]:
    """Those that the setting `clients` does not switch off."""
    return tuple(one for one in CLIENTS if clients.get(one.name, True))


def places_of(clients: Mapping[str, bool], env: Env | None = None) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each client's source with the folders where its sessions are looked for, in words where that is no folder."""
    for client in CLIENTS:
        folders = dict.fromkeys(str(place.folder) for place in client.places(os.environ if env is None else env))
        if not clients.get(client.name, True):
            yield client.source, (f"switched off: clients.{client.name} = false",)
        elif client.beside is not None:
            yield client.source, (*folders, "beside the code: here, above, in known projects")
        else:
            yield client.source, tuple(folders)

"""Clients whose sessions are found on this machine: folders, variables, processes.

Source: the clients' own source or documentation (November 2026).
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
    """A folder of recordings: files below `root` that match `pattern`.

    - `pattern`: shell patterns; ``**`` matches up to four folders. The folder at the first wildcard is the project's if
      `KnownClient.by_project`.
    """

    root: Path
    pattern: str
    excluded: tuple[str, ...] = ()
    database: bool = False

    @property
    def folder(self) -> Path:
        folders = self.pattern.split("/")[:-1]
        plain = takewhile(lambda name: "*" not in name, folders)
        return self.root.joinpath(*plain)


def _names_nothing(folder: str, directory: Path) -> bool:
    return False


def _is_itself(recording: Path) -> Path:
    return recording


class KnownClient(Struct, frozen=True, kw_only=True):
    """A program whose recordings are found.

    - `name`: its key in the configuration; `source`: the name of its format (`transcripts/registry`).
    - `places`: gives the folders of its recordings; `variables`: the environment variables that move them.
    - `copies`: a session may be in several places; then the first one counts.
    - `beside`: gives the paths, which may not exist, of its recordings in a project's directory.
    - `named_for`: whether a project's folder of this name is for this directory.
    - `worktree_of`: whether that folder is for a worktree that the client made inside the directory.
    - `named_in`: gives the file that names the directory of a recording.
    - `directory_file`: a file in the project's folder that names the directory; "": there is none.
    - `parent_member`: a recording whose head has this JSON member with a text is a part of another session.
    - `projects`: gives a file whose table ``projects`` has directories as keys.
    - `plain`: every text is an uncompressed JSON string, so that a search can skip files by their bytes.
    - `whole_since`: the first version whose recordings hold whole requests.
    - `whole_by`: earlier versions write them elsewhere if this variable is ``file:DIR``.
    - `commands`, `packages`: names of its program and its package, by which a running client is recognized.
    """

    name: str
    source: str
    places: Callable[[Env], Iterable[RecordingPlace]]
    variables: tuple[str, ...] = ()
    copies: bool = False
    beside: Callable[[Env, Path], Iterable[Path]] | None = None
    named_for: Callable[[str, Path], bool] = _names_nothing
    worktree_of: Callable[[str, Path], bool] = _names_nothing
    named_in: Callable[[Path], Path] = _is_itself
    directory_file: str = ""
    parent_member: str = ""
    projects: Callable[[Env], Path] | None = None
    plain: bool = False
    whole_since: tuple[int, int, int] | None = None
    whole_by: str = ""
    commands: frozenset[str] = frozenset()
    packages: tuple[str, ...] = ()

    @property
    def by_project(self) -> bool:
        return self.named_for is not _names_nothing or bool(self.directory_file)


def user_home(env: Env) -> Path:
    return Path(env.get("HOME") or os.path.expanduser("~"))


def _named_folder(env: Env, variable: str) -> Path | None:
    return Path(os.path.expanduser(env[variable])) if env.get(variable) else None


def _env_folder(env: Env, variable: str, *default: str) -> Path:
    return _named_folder(env, variable) or user_home(env).joinpath(*default)


def _app_config_folder(env: Env, app: str) -> Path:
    if sys.platform == "darwin":
        return user_home(env) / "Library" / "Application Support" / app
    return _env_folder(env, "XDG_CONFIG_HOME", ".config") / app


# Places of each client


def _claude_code_places(env: Env) -> Iterator[RecordingPlace]:
    homes = [_env_folder(env, "CLAUDE_CONFIG_DIR", ".claude")]
    if not env.get("CLAUDE_CONFIG_DIR"):
        # Some versions of 2025 wrote to this folder.
        homes.append(_env_folder(env, "XDG_CONFIG_HOME", ".config") / "claude")
    for home in homes:
        # Subagents' files belong to the session that lists them; the index is of API bodies (facts §13.1).
        yield RecordingPlace(home, "projects/*/*.jsonl", excluded=("agent-*", "index.jsonl"))


def _codex_places(env: Env) -> Iterator[RecordingPlace]:
    for folder in ("sessions", "archived_sessions"):
        yield RecordingPlace(_env_folder(env, "CODEX_HOME", ".codex"), f"{folder}/**/rollout-*.jsonl")


def _opencode_places(env: Env) -> Iterator[RecordingPlace]:
    data = _env_folder(env, "XDG_DATA_HOME", ".local", "share") / "opencode"
    named = env.get("OPENCODE_DB", "")
    if named and named != ":memory:":
        file = data / named
        yield RecordingPlace(file.parent, file.name, database=True)
    # One database per channel (opencode-beta.db). JSON files of versions before the database remain.
    yield RecordingPlace(data, "opencode*.db", database=True)
    yield RecordingPlace(data, "storage/session/*/ses_*.json")


def _pi_places(env: Env) -> Iterator[RecordingPlace]:
    if folder := _named_folder(env, "PI_CODING_AGENT_SESSION_DIR"):
        yield RecordingPlace(folder, "*.jsonl")
    yield RecordingPlace(_env_folder(env, "PI_CODING_AGENT_DIR", ".pi", "agent"), "sessions/*/*.jsonl")


def _gemini_cli_places(env: Env) -> Iterator[RecordingPlace]:
    home = _env_folder(env, "GEMINI_CLI_HOME")
    for pattern in ("session-*.jsonl", "session-*.json"):
        yield RecordingPlace(home / ".gemini", f"tmp/*/chats/{pattern}")


def _qwen_code_places(env: Env) -> Iterator[RecordingPlace]:
    home = _named_folder(env, "QWEN_RUNTIME_DIR") or _env_folder(env, "QWEN_HOME", ".qwen")
    yield RecordingPlace(home, "projects/*/chats/*.jsonl")


def _kimi_code_places(env: Env) -> Iterator[RecordingPlace]:
    # Files of subagents are part of the main agent's session.
    yield RecordingPlace(_env_folder(env, "KIMI_CODE_HOME", ".kimi-code"), "sessions/*/*/agents/main/wire.jsonl")


def _continue_places(env: Env) -> Iterator[RecordingPlace]:
    yield RecordingPlace(
        _env_folder(env, "CONTINUE_GLOBAL_DIR", ".continue"), "sessions/*.json", excluded=("sessions.json",)
    )


def _cline_places(env: Env) -> Iterator[RecordingPlace]:
    data = env.get("CLINE_DATA_DIR") or _env_folder(env, "CLINE_DIR", ".cline") / "data"
    sessions = env.get("CLINE_SESSION_DATA_DIR") or Path(data) / "sessions"
    # Files of subagents are part of the session that is in the same folder.
    yield RecordingPlace(Path(os.path.expanduser(sessions)), "*/[0-9]*_*.messages.json", excluded=("*__*",))


def _cline_details(recording: Path) -> Path:
    return recording.with_name(recording.name.removesuffix(".messages.json") + ".json")


def _goose_places(env: Env) -> Iterator[RecordingPlace]:
    root = env.get("GOOSE_PATH_ROOT")
    data = Path(root) / "data" if root else _env_folder(env, "XDG_DATA_HOME", ".local", "share") / "goose"
    # Its logs of the newest requests (`llm_request.*.jsonl`) contain the same calls.
    yield RecordingPlace(data / "sessions", "sessions.db", database=True)


def _copilot_cli_places(env: Env) -> Iterator[RecordingPlace]:
    homes = [_env_folder(env, "COPILOT_HOME", ".copilot")]
    if env.get("XDG_STATE_HOME") and not env.get("COPILOT_HOME"):
        # Used before 1.0; later versions move the files.
        homes.append(Path(env["XDG_STATE_HOME"]) / ".copilot")
    for home in homes:
        yield RecordingPlace(home, "session-state/*/events.jsonl")
        yield RecordingPlace(home, "session-state/*.jsonl")


def _llm_places(env: Env) -> Iterator[RecordingPlace]:
    folder = _named_folder(env, "LLM_USER_PATH") or _app_config_folder(env, "io.datasette.llm")
    yield RecordingPlace(folder, "logs.db", database=True)


def _mini_swe_agent_places(env: Env) -> Iterator[RecordingPlace]:
    folder = _named_folder(env, "MSWEA_GLOBAL_CONFIG_DIR") or _app_config_folder(env, "mini-swe-agent")
    yield RecordingPlace(folder, "*.traj.json")


_AIDER_OPTION: Final = r"(?m)^(?:chat|llm)-history-file\s*:[ \t]*(.+?)[ \t]*(?: #.*)?$"
"""A line of aider's YAML configuration that sets a history file: group 1, without a comment."""


def _aider_files(env: Env, folder: Path) -> Iterator[Path]:
    # The log and the history in the same folder are read as one session.
    history = folder / ".aider.chat.history.md"
    yield history if history.exists() else folder / ".aider.llm.history"
    for variable in ("AIDER_CHAT_HISTORY_FILE", "AIDER_LLM_HISTORY_FILE"):
        if path := _named_folder(env, variable):
            yield folder / path
    try:
        config = (folder / ".aider.conf.yml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    for text in re.findall(_AIDER_OPTION, config):
        yield folder / Path(os.path.expanduser(text.strip("\"'")))


def _attached_places(env: Env) -> Iterator[RecordingPlace]:
    yield RecordingPlace(attached_dir(env), "*.jsonl")


def _is_pi_folder(folder: str, directory: Path) -> bool:
    return folder == f"--{re.sub(r'[/:]', '-', str(directory).lstrip('/'))}--"


def _is_gemini_folder(folder: str, directory: Path) -> bool:
    # Folder names of versions without `directory_file`. Imported here: `hashlib` loads OpenSSL.
    from hashlib import sha256

    return folder == sha256(str(directory).encode("utf-8", "surrogateescape")).hexdigest()


CLIENTS: Final[tuple[KnownClient, ...]] = (
    KnownClient(
        name="claude-code", source="claude code", places=_claude_code_places, variables=("CLAUDE_CONFIG_DIR",),
        named_for=is_own_folder, worktree_of=is_worktree_folder, plain=True,
        whole_since=(2, 1, 300), whole_by="OTEL_LOG_RAW_API_BODIES",
        commands=frozenset({"claude"}), packages=("claude-code",),
        projects=lambda env: _env_folder(env, "CLAUDE_CONFIG_DIR") / ".claude.json",
    ),
    KnownClient(
        name="codex", source="codex", places=_codex_places, variables=("CODEX_HOME",), plain=True,
        commands=frozenset({"codex"}), packages=("openai/codex",),
        projects=lambda env: _env_folder(env, "CODEX_HOME", ".codex") / "config.toml",
    ),
    KnownClient(
        name="opencode", source="opencode", places=_opencode_places, variables=("XDG_DATA_HOME", "OPENCODE_DB"),
        copies=True, parent_member="parentID", commands=frozenset({"opencode"}), packages=("opencode-ai",),
    ),
    KnownClient(
        name="pi", source="pi", places=_pi_places, variables=("PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR"),
        named_for=_is_pi_folder, commands=frozenset({"pi"}), packages=("pi-coding-agent",),
    ),
    KnownClient(
        name="gemini-cli", source="gemini cli", places=_gemini_cli_places, variables=("GEMINI_CLI_HOME",), copies=True,
        named_for=_is_gemini_folder, directory_file=".project_root",
        commands=frozenset({"gemini"}), packages=("gemini-cli",),
        projects=lambda env: _env_folder(env, "GEMINI_CLI_HOME") / ".gemini" / "projects.json",
    ),
    KnownClient(
        name="qwen-code", source="qwen code", places=_qwen_code_places, variables=("QWEN_HOME", "QWEN_RUNTIME_DIR"),
        commands=frozenset({"qwen"}), packages=("@qwen-code/qwen-code",),
    ),
    KnownClient(
        name="kimi-code", source="kimi code", places=_kimi_code_places, variables=("KIMI_CODE_HOME",),
        commands=frozenset({"kimi"}), packages=("@moonshot-ai/kimi-code",),
    ),
    KnownClient(
        name="continue", source="continue cli", places=_continue_places, variables=("CONTINUE_GLOBAL_DIR",),
        commands=frozenset({"cn"}), packages=("@continuedev/cli",),
    ),
    KnownClient(
        name="cline", source="cline", places=_cline_places, named_in=_cline_details,
        variables=("CLINE_DIR", "CLINE_DATA_DIR", "CLINE_SESSION_DATA_DIR"),
        commands=frozenset({"cline"}), packages=("node_modules/cline/", "@cline/cli"),
    ),
    KnownClient(
        name="goose", source="goose", places=_goose_places, variables=("GOOSE_PATH_ROOT", "XDG_DATA_HOME"),
        commands=frozenset({"goose"}), packages=("@aaif/goose",),
    ),
    KnownClient(
        name="copilot-cli", source="copilot cli", places=_copilot_cli_places, variables=("COPILOT_HOME",), copies=True,
        commands=frozenset({"copilot"}), packages=("@github/copilot",),
    ),
    KnownClient(
        name="llm", source="llm", places=_llm_places, variables=("LLM_USER_PATH", "XDG_CONFIG_HOME"),
        commands=frozenset({"llm"}),
    ),
    KnownClient(
        name="aider", source="aider", places=lambda env: (), beside=_aider_files, commands=frozenset({"aider"}),
        variables=("AIDER_CHAT_HISTORY_FILE", "AIDER_LLM_HISTORY_FILE"),
    ),
    KnownClient(
        name="mini-swe-agent", source="mini-swe-agent", places=_mini_swe_agent_places, commands=frozenset({"mini"}),
        variables=("MSWEA_GLOBAL_CONFIG_DIR", "XDG_CONFIG_HOME"),
    ),
    KnownClient(
        name="attached", source="attached", places=_attached_places, variables=("CTXTUI_HOME", "XDG_DATA_HOME")
    ),
)  # fmt: skip
"""All clients, in display order."""

_BY_SOURCE: Final = {client.source: client for client in CLIENTS}


def find_client(source: str) -> KnownClient | None:
    return _BY_SOURCE.get(source)


def requests_variable(source: str, version: str) -> str:
    """The variable that makes this version of a client write whole requests to files.

    "" if its recordings have them anyway, if there is no such variable, or if the version is unknown.
    """
    client, version_match = find_client(source), re.match(r"(\d{1,9})\.(\d{1,9})\.(\d{1,9})", version)
    if client is None or client.whole_since is None or version_match is None:
        return ""
    return client.whole_by if tuple(map(int, version_match.groups())) < client.whole_since else ""


def enabled_clients(clients: Mapping[str, bool]) -> tuple[KnownClient, ...]:
    return tuple(client for client in CLIENTS if clients.get(client.name, True))


def search_places(clients: Mapping[str, bool]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each client's source with the folders that are searched, or a reason why none is."""
    for client in CLIENTS:
        folders = dict.fromkeys(str(place.folder) for place in client.places(os.environ))
        if not clients.get(client.name, True):
            yield client.source, (f"switched off: clients.{client.name} = false",)
        elif client.beside is not None:
            yield client.source, (*folders, "beside the code: in this directory, those above it, and known projects")
        else:
            yield client.source, tuple(folders)

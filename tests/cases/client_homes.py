"""A user's home folder with one session of every client, each file where the client itself writes it.

The layouts are those of the clients' own sources (facts §13); all texts are made here.
"""

from __future__ import annotations

import json
import os
import sqlite3
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from ctxtui.services.config.projects import folder_name
from tests.services.lookalike import ClaudeCode, codex, lines

UUIDS: Final = {
    name: f"0199a213-81c0-7800-8aa1-0000000000{number:02}"
    for number, name in enumerate(
        ("claude-code", "codex", "pi", "copilot-cli", "qwen-code", "kimi-code", "continue"), 1
    )
}
CLIENTS: Final = (
    "claude-code", "codex", "opencode", "pi", "gemini-cli", "qwen-code", "kimi-code", "continue", "cline", "goose",
    "copilot-cli",
    "llm", "aider", "mini-swe-agent", "attached",
)  # fmt: skip
AT: Final = 1_790_000_000
"""When the first of them was written, in Unix seconds; each later one a minute after it."""
MOVERS: Final = (
    "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "OPENCODE_DB",
    "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "GEMINI_CLI_HOME", "QWEN_HOME",
    "QWEN_RUNTIME_DIR", "KIMI_CODE_HOME", "CONTINUE_GLOBAL_DIR", "CLINE_DIR", "CLINE_DATA_DIR",
    "CLINE_SESSION_DATA_DIR", "GOOSE_PATH_ROOT", "COPILOT_HOME", "LLM_USER_PATH",
    "AIDER_CHAT_HISTORY_FILE", "AIDER_LLM_HISTORY_FILE", "MSWEA_GLOBAL_CONFIG_DIR", "CTXTUI_HOME",
)  # fmt: skip
"""Variables of an environment that move a client's home."""


def write(path: Path, data: bytes, at: float = AT) -> Path:
    """A file with its folders, written at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


def tables(path: Path, made: dict[str, list[dict[str, Any]]]) -> Path:
    """A database with these tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for name, rows in made.items():
        columns = list(dict.fromkeys(key for row in rows for key in row))
        connection.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
        for row in rows:
            values = [json.dumps(v) if isinstance(v, dict) else v for v in map(row.get, columns)]
            connection.execute(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(values))})', values)
    connection.commit()
    connection.close()
    return path


def claude_code(cwd: Path, name: str = UUIDS["claude-code"]) -> bytes:
    """A session of Claude Code that ran in `cwd`."""
    session = ClaudeCode(cwd=str(cwd))
    session.session = name
    return lines(session.turns(1, "claude code asks"))


def opencode(cwd: Path, ids: tuple[str, ...] = ("ses_one", "ses_two"), at: float = AT) -> dict[str, Any]:
    """OpenCode's tables with sessions that nothing joins, the first one with a child."""
    made: dict[str, Any] = {"session": [], "message": [], "part": []}
    parents = dict.fromkeys(ids) | {f"{ids[0]}_child": ids[0]}
    for number, (id_, parent) in enumerate(parents.items()):
        when = int((at + number) * 1000)
        made["session"].append(
            {"id": id_, "parent_id": parent, "directory": str(cwd), "title": f"opencode {id_}", "version": "1.18.33",
             "time_created": when, "time_updated": when}
        )  # fmt: skip
        tokens = {"input": 100 + number, "output": 5, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        for n, data in enumerate(
            (
                {"role": "user", "time": {"created": when}},
                {"role": "assistant", "time": {"created": when, "completed": when + 1}, "modelID": "claude-sonnet-4-5",
                 "providerID": "anthropic", "tokens": tokens, "cost": 0.01},
            )
        ):  # fmt: skip
            message = f"msg_{id_}_{n}"
            made["message"].append(
                {"id": message, "session_id": id_, "time_created": when + n, "time_updated": when + n, "data": data}
            )
            text = {"type": "text", "text": f"{data['role']} of {id_}"}
            made["part"].append(
                {"id": f"prt_{id_}_{n}", "message_id": message, "session_id": id_, "time_created": when, "data": text}
            )
    return made


def opencode_files(storage: Path, made: dict[str, Any]) -> list[Path]:
    """The same as the JSON files of versions before the database; the sessions' files."""
    found = []
    for row in made["session"]:
        time = {"created": row["time_created"], "updated": row["time_updated"]}
        value = {"id": row["id"], "projectID": "p1", "time": time} | {
            k: row[k] for k in ("title", "directory", "version")
        }
        value |= {"parentID": row["parent_id"]} if row["parent_id"] else {}
        found.append(write(storage / f"session/p1/{row['id']}.json", json.dumps(value).encode()))
    for row in made["message"]:
        value = {"id": row["id"], "sessionID": row["session_id"], **row["data"]}
        write(storage / f"message/{row['session_id']}/{row['id']}.json", json.dumps(value).encode())
    for row in made["part"]:
        value = {"id": row["id"], "messageID": row["message_id"], **row["data"]}
        write(storage / f"part/{row['message_id']}/{row['id']}.json", json.dumps(value).encode())
    return found


def llm(ids: tuple[str, ...] = ("01m819one", "01m819two")) -> dict[str, Any]:
    """llm's tables with threads that nothing joins."""
    made: dict[str, Any] = {"threads": [], "turns": [], "messages": [], "parts": []}
    for number, id_ in enumerate(ids):
        when = f"2026-11-22 09:37:{30 + number:02}.000000+00:00"
        made["threads"].append({"id": id_, "name": f"llm {id_}", "forked_from": None, "datetime_utc": when})
        made["turns"].append(
            {"id": f"turn-{id_}", "thread_id": id_, "tip_message_hash": f"{id_}-2", "model": "gpt-5.6",
             "resolved_model": "gpt-5.6", "input_tokens": 10 + number, "output_tokens": 3, "datetime_utc": when}
        )  # fmt: skip
        for n, role in enumerate(("user", "assistant"), 1):
            parent = f"{id_}-{n - 1}" if n > 1 else None
            made["messages"].append({"hash": f"{id_}-{n}", "parent_hash": parent, "role": role})
            made["parts"].append({"message_hash": f"{id_}-{n}", "position": 0, "type": "text", "text": f"{role} {id_}"})
    return made


def pi(cwd: Path, id_: str = UUIDS["pi"]) -> bytes:
    """A session of pi."""
    usage = {"input": 50, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 55}
    said = {"role": "assistant", "content": [{"type": "text", "text": "yes"}], "api": "anthropic-messages",
            "model": "claude-opus-4-5", "usage": usage, "stopReason": "stop", "timestamp": AT * 1000}  # fmt: skip
    asked = {"role": "user", "content": [{"type": "text", "text": "pi asks"}], "timestamp": AT * 1000}
    return lines(
        [
            {"type": "session", "version": 3, "id": id_, "timestamp": "2026-11-22T09:43:11.050Z", "cwd": str(cwd)},
            {
                "type": "message",
                "id": "a1",
                "parentId": None,
                "timestamp": "2026-11-22T09:43:11.050Z",
                "message": asked,
            },
            {"type": "message", "id": "a2", "parentId": "a1", "timestamp": "2026-11-22T09:43:12.050Z", "message": said},
        ]
    )


def gemini_cli(id_: str = "gemini01-81c0-7800-8aa1-bbab2a035a53") -> bytes:
    """A session of Gemini CLI: it does not say where it ran."""
    tokens = {"input": 60, "output": 5, "cached": 0, "thoughts": 0, "tool": 0, "total": 65}
    head = {"sessionId": id_, "projectHash": "shop", "startTime": "2026-11-22T09:00:00Z", "kind": "main"}
    asked = {"id": "1", "timestamp": "2026-11-22T09:00:00Z", "type": "user", "content": "gemini asks"}
    said = {"id": "2", "timestamp": "2026-11-22T09:00:01Z", "type": "gemini", "content": "yes", "tokens": tokens,
            "model": "gemini-3-pro"}  # fmt: skip
    return lines([head, asked, said])


def qwen_code(cwd: Path, id_: str = UUIDS["qwen-code"]) -> bytes:
    """A session of Qwen Code."""
    usage = {"promptTokenCount": 60, "candidatesTokenCount": 5, "totalTokenCount": 65}
    own = {"sessionId": id_, "cwd": str(cwd), "version": "0.24.4"}
    asked = {"uuid": "q1", "parentUuid": None, "type": "user", "timestamp": "2026-11-22T09:00:00Z",
             "message": {"role": "user", "parts": [{"text": "qwen asks"}]}, **own}  # fmt: skip
    said = {"uuid": "q2", "parentUuid": "q1", "type": "assistant", "timestamp": "2026-11-22T09:00:01Z",
            "message": {"role": "model", "parts": [{"text": "yes"}]}, "model": "qwen3-coder-plus",
            "usageMetadata": usage, **own}  # fmt: skip
    return lines([asked, said])


def kimi_code() -> bytes:
    """A session of Kimi Code: it does not say where it ran."""
    asked = {"role": "user", "content": [{"type": "text", "text": "kimi asks"}], "origin": {"kind": "user"}}
    step = {"usage": {"inputOther": 60, "output": 5}, "messageId": "msg_1", "rawFinishReason": "end_turn"}
    said = {"type": "content.part", "part": {"type": "text", "text": "yes"}}
    request = {"type": "llm.request", "kind": "loop", "model": "kimi-k2.6", "turnStep": "0.1"}
    records: list[dict[str, Any]] = [
        {"type": "context.append_message", "message": asked},
        request,
        {"type": "context.append_loop_event", "event": said},
        {"type": "context.append_loop_event", "event": {"type": "step.end", **step}},
    ]
    times = [{**one, "agentId": "main", "time": AT * 1000 + n} for n, one in enumerate(records)]
    return lines([{"type": "metadata", "protocol_version": "1.5", "created_at": AT * 1000}, *times])


def continue_cli(cwd: Path, id_: str = UUIDS["continue"]) -> bytes:
    """A session of Continue."""
    usage = {"prompt_tokens": 60, "completion_tokens": 5, "model": "gpt-5"}
    asked = {"message": {"role": "user", "content": "continue asks"}, "contextItems": []}
    said = {"message": {"role": "assistant", "content": "yes", "usage": usage}, "contextItems": []}
    session = {"sessionId": id_, "title": "Untitled Session", "workspaceDirectory": str(cwd), "history": [asked, said]}
    return json.dumps(session, indent=2).encode()


def goose(cwd: Path, at: float = AT) -> dict[str, Any]:
    """Goose's tables with one session."""
    day = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
    known = {"id": "20261122_1", "name": "goose asks", "working_dir": str(cwd), "created_at": day, "updated_at": day}
    used = {"input_tokens": 40, "output_tokens": 5, "accumulated_input_tokens": 40, "accumulated_output_tokens": 5}
    said = {"user": "goose asks", "assistant": "It answers."}
    return {
        "schema_version": [{"version": 9}],
        "sessions": [known | used | {"provider_name": "anthropic", "model_config_json": {"model_name": "m-1"}}],
        "messages": [
            {
                "id": n,
                "session_id": known["id"],
                "role": role,
                "content_json": json.dumps([{"type": "text", "text": text}]),
                "created_timestamp": int(at),
            }
            for n, (role, text) in enumerate(said.items())
        ],
    }


def copilot_cli(cwd: Path, id_: str = UUIDS["copilot-cli"]) -> bytes:
    """A session of Copilot CLI."""
    begun = {
        "sessionId": id_,
        "producer": "copilot-agent",
        "copilotVersion": "1.0.64",
        "context": {"cwd": str(cwd)},
        "version": 1,
    }
    answer = {"messageId": "m1", "model": "gpt-5", "content": "yes", "toolRequests": [], "apiCallId": "chatcmpl_1"}
    return lines(
        {"type": kind, "data": data, "id": f"e{n}", "timestamp": f"2026-06-23T05:17:2{n}.000Z"}
        for n, (kind, data) in enumerate(
            (
                ("session.start", begun),
                ("user.message", {"content": "copilot asks"}),
                ("assistant.message", answer),
            )
        )
    )


def aider() -> bytes:
    """A chat history of aider."""
    return (
        b"\n# aider chat started at 2026-11-22 09:38:43\n\n"
        b"> Aider v0.86.2  \n> Model: gpt-5.6 with whole edit format  \n"
        b"\n#### aider asks  \n\nyes\n\n> Tokens: 70 sent, 5 received.  \n"
    )


CLINE_ID: Final = "1790000000000_abcde"


def cline(id_: str = CLINE_ID) -> bytes:
    """A session of Cline: its messages."""
    asked = {
        "id": "u1",
        "role": "user",
        "content": [{"type": "text", "text": '<user_input mode="act">cline asks</user_input>'}],
    }
    said = {"id": "msg_c", "role": "assistant", "content": [{"type": "text", "text": "yes"}], "ts": AT * 1000,
            "modelInfo": {"id": "claude-sonnet-4-5", "provider": "anthropic"},
            "metrics": {"inputTokens": 70, "outputTokens": 5, "cacheReadTokens": 0, "cacheWriteTokens": 0}}  # fmt: skip
    origin = {"source": "cli", "mode": "user", "sessionId": id_, "version": "3.0.65"}
    session = {"version": 1, "agent": "lead", "sessionId": id_, "origin": origin, "messages": [asked, said],
               "system_prompt": "You are Cline."}  # fmt: skip
    return json.dumps(session, indent=2).encode()


def cline_details(cwd: Path, id_: str = CLINE_ID) -> bytes:
    """What Cline keeps beside a session's messages."""
    value = {
        "version": 1,
        "session_id": id_,
        "cwd": str(cwd),
        "metadata": {"title": "cline asks"},
        "messages_path": "m",
    }
    return json.dumps(value, indent=2).encode()


def mini_swe_agent() -> bytes:
    """A trajectory of mini-SWE-agent."""
    usage = {"prompt_tokens": 80, "completion_tokens": 5, "total_tokens": 85}
    answer = {"id": "chatcmpl-9", "object": "chat.completion", "model": "gpt-5.6", "usage": usage,
              "choices": [{"index": 0, "message": {"role": "assistant", "content": "yes"}}]}  # fmt: skip
    return json.dumps(
        {
            "info": {"mini_version": "2.4.6", "config": {"agent": {}, "model": {"model_name": "gpt-5.6"}}},
            "messages": [
                {"role": "user", "content": "mini asks"},
                {"role": "assistant", "content": "yes", "extra": {"response": answer}},
            ],
            "trajectory_format": "mini-swe-agent-1.1",
        }
    ).encode()


def attached(cwd: Path) -> bytes:
    """A request that went through ctxtui, with its answer."""
    asked = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "script asks"}]}
    said = {"id": "msg_a", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": [],
            "stop_reason": "end_turn", "usage": {"input_tokens": 90, "output_tokens": 5}}  # fmt: skip
    url = "https://api.anthropic.com/v1/messages"
    return lines(
        [
            {"ctxtui_attached": 1, "session": "run-12345678", "program": "python", "cwd": str(cwd)},
            {"x": "a", "at": AT, "asked": {"method": "POST", "url": url, "body": {"text": json.dumps(asked)}}},
            {"x": "a", "at": AT + 1, "answered": {"status": 200}},
            {"x": "a", "at": AT + 1, "data": json.dumps(said)},
            {"x": "a", "at": AT + 2, "ended": True},
        ]
    )


def home_of_all(home: Path, cwd: Path, own: Path | None = None) -> dict[str, list[Path]]:
    """One session of every client in `home`, two in databases, all run in `cwd`; the files by client, oldest first.
    `own` is ctxtui's own folder."""
    at = iter(range(AT, AT + 14 * 60, 60))
    slug = "shop"
    write(home / f".cline/data/sessions/{CLINE_ID}/{CLINE_ID}.json", cline_details(cwd))
    write(home / ".gemini/tmp" / slug / ".project_root", str(cwd).encode())
    pi_folder = f"--{str(cwd).lstrip('/').replace('/', '-')}--"
    found = {
        "claude-code": write(
            home / ".claude/projects" / folder_name(cwd) / f"{UUIDS['claude-code']}.jsonl", claude_code(cwd), next(at)
        ),
        "codex": write(
            home / f".codex/sessions/2026/11/22/rollout-2026-11-22T09-22-20-{UUIDS['codex']}.jsonl",
            codex(1, cwd=str(cwd)), next(at),
        ),
        "opencode": tables(home / ".local/share/opencode/opencode.db", opencode(cwd, at=next(at))),
        "pi": write(
            home / ".pi/agent/sessions" / pi_folder / f"2026-11-22T09-43-11-050Z_{UUIDS['pi']}.jsonl", pi(cwd), next(at)
        ),
        "gemini-cli": write(
            home / f".gemini/tmp/{slug}/chats/session-2026-11-22T09-00-gemini01.jsonl", gemini_cli(), next(at)
        ),
        "qwen-code": write(
            home / f".qwen/projects/{slug}/chats/{UUIDS['qwen-code']}.jsonl", qwen_code(cwd), next(at)
        ),
        "kimi-code": write(
            home / f".kimi-code/sessions/wd_{slug}/{UUIDS['kimi-code']}/agents/main/wire.jsonl", kimi_code(), next(at)
        ),
        "continue": write(home / f".continue/sessions/{UUIDS['continue']}.json", continue_cli(cwd), next(at)),
        "cline": write(home / f".cline/data/sessions/{CLINE_ID}/{CLINE_ID}.messages.json", cline(), next(at)),
        "goose": tables(home / ".local/share/goose/sessions/sessions.db", goose(cwd, next(at))),
        "copilot-cli": write(
            home / f".copilot/session-state/{UUIDS['copilot-cli']}/events.jsonl", copilot_cli(cwd), next(at)
        ),
        "llm": tables(home / ".config/io.datasette.llm/logs.db", llm()),
        "aider": write(cwd / ".aider.chat.history.md", aider(), next(at)),
        "mini-swe-agent": write(home / ".config/mini-swe-agent/last_mini_run.traj.json", mini_swe_agent(), next(at)),
        "attached": write(
            (own or home / ".local/share/ctxtui") / "attached/run-12345678.jsonl", attached(cwd), AT - 60
        ),
    }  # fmt: skip
    return {name: [path] for name, path in found.items()}


def older_gemini_folder(cwd: Path) -> str:
    """How Gemini CLI called a project's folder before it kept the directory in a file."""
    return sha256(str(cwd).encode()).hexdigest()

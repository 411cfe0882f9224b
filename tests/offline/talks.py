"""Legal requests in each dialect, and edits of them, for case tables."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

Body = dict[str, Any]
Edit = Callable[[Body], None]

READ = {
    "name": "read_file",
    "description": "reads a file",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
}


def anthropic(**more: Any) -> Body:
    """A question, a call with its result, an answer, a further question."""
    messages = [
        {"role": "user", "content": "What is in a.txt?"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "hello"},
                {"type": "text", "text": "Go on."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "It says hello."}]},
        {"role": "user", "content": "Thanks. Now read b.txt and find x."},
    ]
    body = {
        "model": "claude-opus-4-8",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "Be kind."}],
        "tools": [READ],
        "messages": messages,
    }
    return copy.deepcopy({**body, **more})


def chat(**more: Any) -> Body:
    """The same in Chat."""
    call = {"id": "call_1", "type": "function", "function": {"name": "read_file", "arguments": '{"path":"a.txt"}'}}
    inner = {"name": "read_file", "description": "reads a file", "parameters": READ["input_schema"]}
    body = {
        "model": "gpt-5.4",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "What is in a.txt?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "hello"},
            {"role": "assistant", "content": "It says hello."},
            {"role": "user", "content": [{"type": "text", "text": "Thanks. Now read b.txt and find x."}]},
        ],
        "tools": [{"type": "function", "function": inner}],
    }
    return copy.deepcopy({**body, **more})


def google(**more: Any) -> Body:
    """The same in Google's API."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    declared = {"name": "read_file", "description": "reads a file", "parametersJsonSchema": schema}
    call = {"functionCall": {"id": "1", "name": "read_file", "args": {"path": "a.txt"}}, "thoughtSignature": "c2ln"}
    answer = {"functionResponse": {"id": "1", "name": "read_file", "response": {"output": "hello"}}}
    body = {
        "systemInstruction": {"parts": [{"text": "Be kind."}]},
        "tools": [{"functionDeclarations": [declared]}],
        "contents": [
            {"role": "user", "parts": [{"text": "What is in a.txt? Then read b.txt."}]},
            {"role": "model", "parts": [{"text": "I look."}, call]},
            {"role": "user", "parts": [answer]},
        ],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True}},
    }
    return copy.deepcopy({**body, **more})


def responses(**more: Any) -> Body:
    """The same in Responses."""
    said = [{"type": "output_text", "text": "hello", "annotations": []}]
    tool = {"type": "function", "name": "read_file", "description": "reads", "parameters": READ["input_schema"]}
    body = {
        "model": "gpt-5.4",
        "instructions": "Be kind.",
        "input": [
            {"role": "user", "content": "What is in a.txt?"},
            {"type": "function_call", "call_id": "call_1", "name": "read_file", "arguments": '{"path":"a.txt"}'},
            {"type": "function_call_output", "call_id": "call_1", "output": "hello"},
            {
                "type": "message",
                "role": "assistant",
                "content": said,
            },
            {"role": "user", "content": [{"type": "input_text", "text": "Thanks. Now read b.txt and find x."}]},
        ],
        "tools": [tool],
    }
    return copy.deepcopy({**body, **more})


EXEC = {
    "type": "custom",
    "name": "exec",
    "description": """Run JavaScript code to orchestrate/compose tool calls

### `apply_patch`
The `apply_patch` tool can be used to edit files. This is a FREEFORM tool, so do not wrap the patch in JSON.

exec tool declaration:
```ts
declare const tools: { apply_patch(input: string): Promise<unknown>; };
```

### `exec_command`
Runs a command in a PTY, returning output or a session ID for ongoing interaction.

exec tool declaration:
```ts
declare const tools: { exec_command(args: {
  // Shell command to execute.
  cmd: string;
  // Output token budget (at most 10000 tokens); for example { "a": [1] }.
  max_output_tokens?: number;
  prefix_rule?: Array<string>;
  sandbox_permissions?: "use_default" | "require_escalated";
  tty?: boolean;
}): Promise<{
  // Command output text, possibly truncated.
  output: string;
}>; };
```

### `update_goal`
Update the existing goal.

exec tool declaration:
```ts
declare const tools: { update_goal(args: {
  status: "complete" | "blocked";
}): Promise<unknown>; };
```
""",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /[\\s\\S]+/"},
}
"""A tool like Codex's: free text that calls the tools declared in the description."""

MORE_TOOLS: Body = {
    "type": "additional_tools",
    "id": "at_1",
    "role": "developer",
    "tools": [
        {
            "type": "namespace",
            "name": "functions",
            "description": "",
            "tools": [
                EXEC,
                {
                    "type": "function",
                    "name": "wait",
                    "description": "Waits on a yielded cell",
                    "strict": False,
                    "parameters": {
                        "type": "object",
                        "properties": {"cell_id": {"type": "string"}},
                        "required": ["cell_id"],
                    },
                },
            ],
        },
        {
            "type": "namespace",
            "name": "collaboration",
            "description": "Agents.",
            "tools": [
                {
                    "type": "function",
                    "name": "spawn_agent",
                    "description": "Spawns an agent",
                    "strict": False,
                    "parameters": {
                        "type": "object",
                        "properties": {"task_name": {"type": "string"}, "message": {"type": "string"}},
                        "required": ["task_name", "message"],
                    },
                }
            ],
        },
    ],
}
PASSED = {"internal_chat_message_metadata_passthrough": {"turn_id": "t1", "create_time": 1.5}}


def codex(task: str = "run `git status`", **more: Any) -> Body:
    """A first request like Codex's to a model that it knows: tools as an item, nothing in `instructions`."""

    def said(role: str, text: str) -> Body:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}], **PASSED}

    body = {
        "model": "gpt-6.1-sol",
        "stream": False,
        "input": [
            MORE_TOOLS,
            said("developer", "You are an agent."),
            said("user", "<environment_context>\n  <cwd>/home/dev/shop</cwd>\n</environment_context>"),
            said("user", task),
        ],
        "tool_choice": "auto",
        "parallel_tool_calls": False,
        "reasoning": {"effort": "low", "context": "all_turns"},
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "prompt_cache_key": "01a",
        "text": {"verbosity": "low"},
        "client_metadata": {"session_id": "01a", "x-codex-turn-metadata": "{}"},
    }
    return copy.deepcopy({**body, **more})


def codex_after(body: Body, output: list[Body], results: Mapping[str, str]) -> Body:
    """`body` with an answer's `output` and the results of its calls, by call id: a custom tool's as Codex spells it."""
    made = copy.deepcopy(body)
    for item in output:
        made["input"].append({**item, **PASSED})
    for id_, text in results.items():
        kind = next(item["type"] for item in output if item.get("call_id") == id_)
        told: Any = text
        if kind == "custom_tool_call":
            head = "Script completed\nWall time 0.1 seconds\nOutput:\n"
            told = [{"type": "input_text", "text": head}, {"type": "input_text", "text": text}]
        made["input"].append({"type": f"{kind}_output", "call_id": id_, "output": told, **PASSED})
    return made


def result_of(call_id: str, text: str) -> Body:
    """What a custom tool returned."""
    return {"type": "custom_tool_call_output", "call_id": call_id, "output": text}


def codex_compacting(**more: Any) -> Body:
    """The request with which Codex has its history compacted by the provider."""
    body = codex("The port is 8080.", **more)
    body["input"] += [
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Noted.", "annotations": [], "logprobs": []}],
        },
        {"type": "compaction_trigger"},
    ]
    return body


def codex_compacted(cipher: str = "Q" * 40, **more: Any) -> Body:
    """What Codex sends after it: the tools, the developer, what was compacted, a message between agents, a prompt."""
    body = codex("which port was it?", **more)
    agent = {
        "type": "agent_message",
        "id": "amsg_1",
        "author": "/root/count",
        "recipient": "/root",
        "content": [{"type": "input_text", "text": "Message Type: FINAL_ANSWER\nPayload:\n621 lines"}],
    }
    body["input"][2:2] = [{"type": "compaction", "id": "cmp_1", "encrypted_content": cipher}, agent]
    return body


BETAS = ("claude-code-20250219", "context-management-2025-06-27", "dangerous-tool-use-2026-09-03")


def claude_code_compacted(**more: Any) -> Body:
    """A request like Claude Code's first one after ``/compact``, in auto mode."""
    body = {
        "model": "claude-opus-5-5",
        "max_tokens": 32000,
        "messages": [
            {"role": "user", "content": "This session continues: the port is 8080."},
            {"role": "system", "content": [], "output_config": {"effort": "medium"}},
            {"role": "assistant", "content": [{"type": "text", "text": "Noted."}]},
            {"role": "user", "content": [{"type": "text", "text": "which port was it?"}]},
            {"role": "system", "content": "Tools may change."},
        ],
        "system": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "tools": [READ],
        "metadata": {"user_id": "{}"},
        "thinking": {"type": "adaptive"},
        "safeguards": [{"type": "dangerous_tool_use", "classifier_context": {"v": 1, "permission_mode": "auto"}}],
        "output_config": {"effort": "medium"},
        "stream": True,
    }
    return copy.deepcopy({**body, **more})


def edited(body: Body, edit: Edit) -> Body:
    """`body` after `edit`."""
    edit(body)
    return body


def at(path: str, value: Any) -> Edit:
    """Puts `value` at ``messages.1.content.0.text``."""

    def edit(body: Body) -> None:
        *steps, last = [int(s) if s.isdigit() else s for s in path.split(".")]
        inner: Any = body
        for step in steps:
            inner = inner[step]
        if isinstance(last, int) and isinstance(inner, list) and last == len(inner):
            inner.append(value)
        else:
            inner[last] = value

    return edit


def without(path: str) -> Edit:
    """Takes away what stands at a path."""

    def edit(body: Body) -> None:
        *steps, last = [int(s) if s.isdigit() else s for s in path.split(".")]
        inner: Any = body
        for step in steps:
            inner = inner[step]
        del inner[last]

    return edit

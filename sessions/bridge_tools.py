"""Tool schemas of four MCP servers: their tools by name, in words of our own, in the size that was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from sessions.dice import Dice, exactly
from sessions.recording import Json

SIZES: Final = {"github": 29230, "filesystem": 11671, "memory": 7859, "fetch": 1640}
"""Bytes of all schemas of a server, as JSON indented by two."""

_SERVERS: Final = {
    "github": """
        create_or_update_file owner repo path content message branch sha? | search_repositories query page? perPage?
        create_repository name description? private? autoInit? | get_file_contents owner repo path branch?
        push_files owner repo branch files message | create_issue owner repo title body? assignees? labels?
        create_pull_request owner repo title body? head base draft? | fork_repository owner repo organization?
        create_branch owner repo branch from_branch? | list_commits owner repo sha? page? perPage?
        list_issues owner repo state? labels? sort? direction? since? page? perPage?
        update_issue owner repo issue_number title? body? state? labels? assignees?
        add_issue_comment owner repo issue_number body | search_code q sort? order? page? perPage?
        search_issues q sort? order? page? perPage? | search_users q sort? order? page? perPage?
        get_issue owner repo issue_number | get_pull_request owner repo pull_number
        list_pull_requests owner repo state? head? base? sort? direction? page? perPage?
        create_pull_request_review owner repo pull_number body event comments?
        merge_pull_request owner repo pull_number commit_title? commit_message? merge_method?
        get_pull_request_files owner repo pull_number | get_pull_request_status owner repo pull_number
        update_pull_request_branch owner repo pull_number expected_head_sha?
        get_pull_request_comments owner repo pull_number | get_pull_request_reviews owner repo pull_number""",
    "filesystem": """
        read_file path tail? head? | read_text_file path tail? head? | read_media_file path | read_multiple_files paths
        write_file path content | edit_file path edits dryRun? | create_directory path | list_directory path
        list_directory_with_sizes path sortBy? | directory_tree path excludePatterns? | move_file source destination
        search_files path pattern excludePatterns? | get_file_info path | list_allowed_directories""",
    "memory": """
        create_entities entities | create_relations relations | add_observations observations
        delete_entities entityNames | delete_observations deletions | delete_relations relations
        read_graph | search_nodes query | open_nodes names""",
    "fetch": "fetch url max_length? start_index? raw?",
}
_NUMBERS: Final = frozenset("page perPage issue_number pull_number tail head max_length start_index".split())
_FLAGS: Final = frozenset("private autoInit draft dryRun raw".split())
_LISTS: Final = frozenset(
    "files assignees labels comments paths edits excludePatterns entities relations observations entityNames "
    "deletions names".split()
)
_NOTES: Final = (
    "The answer is returned as text that the model reads in its next round.",
    "Only use this tool when the task names the object it works on.",
    "Fails with a clear message if the object does not exist or access is denied.",
    "Large answers are not cut by the server, so ask for no more than is needed.",
    "Names are case sensitive and must be written exactly as the service shows them.",
    "Several calls can be made in one round as long as they do not depend on each other.",
    "Changes take effect at once and are not asked about a second time.",
)


def _notes(dice: Dice) -> Iterator[str]:
    while True:
        yield dice.pick(_NOTES) + " "


def _property(name: str) -> Json:
    words = name.replace("_", " ")
    if name in _LISTS:
        return {"type": "array", "items": {"type": "string"}, "description": f"The {words} that are meant"}
    kind = "number" if name in _NUMBERS else "boolean" if name in _FLAGS else "string"
    return {"type": kind, "description": f"The {words} to be used"}


def _tool(words: str) -> Json:
    name, *fields = words.split()
    properties = {field.rstrip("?"): _property(field.rstrip("?")) for field in fields}
    required = [field for field in fields if not field.endswith("?")]
    parameters: Json = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = required
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


def size(tools: list[Json]) -> int:
    """Bytes of the schemas as the bridge measured them."""
    return len(json.dumps(tools, indent=2))


def tools(server: str) -> list[Json]:
    """The schemas of one server, exactly `SIZES[server]` bytes."""
    lines = [part for line in _SERVERS[server].splitlines() for part in line.split("|") if part.strip()]
    made = [_tool(words) for words in lines]
    dice = Dice(f"tools {server}")
    left = SIZES[server] - size(made)
    for i, tool in enumerate(made):
        share = left // (len(made) - i)
        name = tool["function"]["name"].replace("_", " ")
        start = f"{name[0].upper()}{name[1:]}. "
        tool["function"]["description"] = exactly(start[:share], share, _notes(dice))
        left -= share
    return made

"""``/v1/models`` in each provider's shape."""

from __future__ import annotations

from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.anthropic.models import KNOWN as CLAUDES
from ctxtui.offline.anthropic.models import OFFLINE, Claude, claude
from ctxtui.offline.openai.models import KNOWN as GPTS

_EPOCH: Final = "1970-01-01T00:00:00Z"
_EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_KINDS: Final = ("adaptive", "between_tools", "disabled", "enabled")


def anthropic_models() -> Json:
    """The list of the Messages API: the offline model first, then those whose rules can be simulated."""
    ids = (OFFLINE, *CLAUDES)
    return {"data": [anthropic_model(id_) for id_ in ids], "has_more": False, "first_id": ids[0], "last_id": ids[-1]}


def anthropic_model(id_: str) -> dict[str, Json] | None:
    """One model; None where there is none of that id. The date of release is not known here: an epoch value."""
    model = claude(id_)
    if model is None:
        return None
    if id_ == OFFLINE:
        name = "ctxtui offline (no model)"
    else:
        version = ".".join(str(number) for number in model.version if number)
        name = f"Claude {model.line.capitalize()} {version} (simulated offline)"
    return {
        "type": "model",
        "id": id_,
        "display_name": name,
        "created_at": _EPOCH,
        "lifecycle": "active",
        "line": None if id_ == OFFLINE else model.line,
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "deprecated_at": None,
        "retires_at": None,
        "capabilities": _capabilities(model),
    }


def _capabilities(model: Claude) -> dict[str, Json]:
    def supported(yes: bool) -> dict[str, Json]:
        return {"supported": yes}

    no, yes = supported(False), supported(True)
    return {
        "batch": no,
        "citations": no,
        "code_execution": no,
        "context_management": {
            "supported": True,
            "clear_thinking_20251015": yes,
            "clear_tool_uses_20250919": yes,
            "compact_20260112": no,
        },
        "effort": {"supported": bool(model.efforts)} | {level: supported(level in model.efforts) for level in _EFFORTS},
        "image_input": yes,
        "pdf_input": yes,
        "server_tools": {"supported": False, "code_execution": no, "web_search": no},
        "structured_outputs": yes,
        "thinking": {"supported": True, "types": {kind: supported(kind in model.thinking) for kind in _KINDS}},
    }


def openai_models() -> Json:
    """The list of OpenAI's APIs."""
    return {"object": "list", "data": [openai_model(id_) for id_ in (OFFLINE, *GPTS)]}


def openai_model(id_: str) -> dict[str, Json] | None:
    """One model; None where none of that id is listed."""
    if id_ not in (OFFLINE, *GPTS):
        return None
    owner = "ctxtui" if id_ == OFFLINE else "ctxtui-simulated"
    return {"id": id_, "object": "model", "created": 0, "owned_by": owner}

"""What local servers tell of themselves and of the windows that they run with (facts §5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ctxtui.core.canonical import Json
from ctxtui.offline.local.servers import LLAMA_CPP, LM_STUDIO, OLLAMA, VLLM, Local, LocalModel

Told = Callable[[Local], Json]

_SIZE: Final = 4_000_000_000
_WHEN: Final = "2026-11-01T00:00:00Z"
_DIGEST: Final = "0" * 64
_DETAILS: Final = {"format": "gguf", "family": "offline", "parameter_size": "0B", "quantization_level": "none"}


def _tags(local: Local) -> Json:
    return {"models": [_tag(model) for model in local.models]}


def _tag(model: LocalModel) -> dict[str, Json]:
    named = {"name": model.name, "model": model.name, "size": _SIZE, "digest": _DIGEST, "details": _DETAILS}
    return {**named, "modified_at": _WHEN}


def _ps(local: Local) -> Json:
    running = [model for model in local.models if model.loaded]
    return {
        "models": [
            {**_tag(model), "expires_at": _WHEN, "size_vram": 0, "context_length": model.window} for model in running
        ]
    }


def shown(local: Local, name: str) -> Json | None:
    """Ollama's ``/api/show``; None for a model that is not there."""
    model = local.model(name)
    if model is None:
        return None
    return {
        "modelfile": "",
        "parameters": f"num_ctx                        {model.window}",
        "template": "{{ .Prompt }}",
        "details": _DETAILS,
        "model_info": {"general.architecture": "offline", "offline.context_length": model.maximum},
        "capabilities": ["completion", "tools", "thinking"],
        "modified_at": _WHEN,
    }


def _openai(owner: str, **more: Callable[[LocalModel], Json]) -> Told:
    def told(local: Local) -> Json:
        rows = [
            {"id": m.name, "object": "model", "created": 0, "owned_by": owner, **{k: f(m) for k, f in more.items()}}
            for m in local.models
        ]
        return {"object": "list", "data": rows}

    return told


def _studio_v0(local: Local) -> Json:
    rows = []
    for model in local.models:
        row = {"id": model.name, "object": "model", "type": "llm", "max_context_length": model.maximum}
        row["state"] = "loaded" if model.loaded else "not-loaded"
        rows.append(row | ({"loaded_context_length": model.window} if model.loaded else {}))
    return {"object": "list", "data": rows}


def _studio_v1(local: Local) -> Json:
    rows = []
    for model in local.models:
        instance = {"id": model.name, "config": {"context_length": model.window}}
        row = {"key": model.name, "type": "llm", "display_name": model.name, "max_context_length": model.maximum}
        rows.append(row | {"loaded_instances": [instance] if model.loaded else []})
    return {"models": rows}


def _props(local: Local) -> Json:
    window = local.models[0].window
    return {
        "default_generation_settings": {"id": 0, "n_ctx": window, "is_processing": False},
        "total_slots": 1,
        "model_path": local.models[0].name,
        "chat_template": "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
    }


def _slots(local: Local) -> Json:
    return [{"id": 0, "n_ctx": local.models[0].window, "is_processing": False}]


LISTINGS: Final[dict[str, dict[str, Told]]] = {
    OLLAMA: {
        "/api/tags": _tags,
        "/api/ps": _ps,
        "/api/version": lambda _: {"version": "0.0.0-ctxtui-offline"},
        "/v1/models": _openai("library"),
    },
    LM_STUDIO: {
        "/api/v0/models": _studio_v0,
        "/api/v1/models": _studio_v1,
        "/v1/models": _openai("organization_owner"),
    },
    LLAMA_CPP: {
        "/props": _props,
        "/slots": _slots,
        "/health": lambda _: {"status": "ok"},
        "/v1/models": _openai("llamacpp", meta=lambda model: {"n_ctx_train": model.maximum}),
    },
    VLLM: {"/v1/models": _openai("vllm", max_model_len=lambda model: model.window)},
}
"""What is told for a GET, by kind of server and path."""

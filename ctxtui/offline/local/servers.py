"""Local servers that can be played: Ollama, LM Studio, llama.cpp, vLLM (facts §5)."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ctxtui.core.canonical import Json
from ctxtui.offline.exchange import ApiRequest, Refusal
from ctxtui.offline.json_shape import members
from ctxtui.offline.openai.models import Gpt

OLLAMA: Final = "ollama"
LM_STUDIO: Final = "lm studio"
LLAMA_CPP: Final = "llama.cpp"
VLLM: Final = "vllm"
KINDS: Final = (OLLAMA, LM_STUDIO, LLAMA_CPP, VLLM)
_CUTS: Final = (OLLAMA, LM_STUDIO)


class LocalModel(Struct, frozen=True):
    """A model of a local server: the `window` it runs with and the `maximum` it was made for, in tokens. One that is
    not `loaded` runs with none yet."""

    name: str = "offline"
    window: int = 4096
    maximum: int = 131_072
    loaded: bool = True


class Local(Struct, frozen=True):
    """A local server of one `kind` with its models."""

    kind: str
    models: tuple[LocalModel, ...] = (LocalModel(),)

    @property
    def cuts(self) -> bool:
        """Whether it drops the oldest messages of a prompt that is too long, and says nothing. The others refuse."""
        return self.kind in _CUTS

    def model(self, name: str) -> LocalModel | None:
        """The model called `name`; Ollama's ``:latest`` may be left out."""
        names = (name, f"{name}:latest")
        return next((one for one in self.models if one.name in names), None)


def refused(local: Local, asked: ApiRequest) -> list[Refusal]:
    """Why a local server does not serve: it takes nearly everything."""
    name = asked.body.get("model")
    if local.kind == OLLAMA and not isinstance(name, str):
        return [Refusal("model is required", rule="no model")]
    if local.model(str(name)) is None and local.kind not in (LLAMA_CPP, LM_STUDIO):
        told = f"model '{name}' not found" if local.kind == OLLAMA else f"The model `{name}` does not exist."
        return [Refusal(told, 404, "NotFoundError", rule="unknown model")]
    messages = asked.body.get("messages")
    if not isinstance(messages, list) or not all(isinstance(members(one).get("role"), str) for one in messages):
        return [Refusal("messages: a list of objects with a role is required", rule="messages")]
    return []


def serving(local: Local, asked: ApiRequest) -> LocalModel:
    """The model that answers: the one named, else the first (llama.cpp has but one)."""
    return local.model(str(asked.body.get("model"))) or local.models[0]


def rules(model: LocalModel, window: int) -> Gpt:
    """A local model's rules, as a Chat side wants them."""
    return Gpt(
        model.name,
        window=window,
        max_output=window,
        reasons=False,
        fixed=False,
        breakpoints=False,
        all_turns=True,
        system_role=True,
    )


def error(local: Local, refusal: Refusal) -> Json:
    """The error body in the server's own shape."""
    if local.kind == OLLAMA:
        return {"error": refusal.message}
    kind = refusal.type if refusal.status != 429 else "rate_limit_error"
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": refusal.status}}

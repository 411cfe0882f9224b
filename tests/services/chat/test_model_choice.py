"""Whom a chat talks to: by flags, settings, keys and running servers; and whose window counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ctxtui.core.errors import BadConfig, CtxtuiError, NotFound
from ctxtui.providers.endpoint import Endpoint, is_loopback
from ctxtui.providers.sdk_client import SdkClient
from ctxtui.services.chat import model_choice as partners
from ctxtui.services.chat.chat_model import ChatModel, ModelChoice, charges_nothing, stays_on_machine
from ctxtui.services.chat.context_window import learn_window, with_window
from ctxtui.services.chat.model_choice import add_listed_details, choose_model, default_model, params_for
from ctxtui.services.config.config import Config, load
from ctxtui.services.config.settings import Settings
from tests.providers.served import served
from tests.providers.test_local import LLAMA_CPP, OLLAMA, VLLM

KEYS = {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "o"}


def config(tmp_path: Path, text: str = "", *flags: str) -> Config:
    (tmp_path / "ctxtui.toml").write_text(text)
    return load(flags, cwd=tmp_path, env={"CTXTUI_HOME": str(tmp_path)})


@pytest.fixture(autouse=True)
def no_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def none(env: Any) -> list[Any]:
        return []

    monkeypatch.setattr(partners, "find_servers", none)


@pytest.mark.parametrize(
    "wish, env, name, model",
    [
        (ModelChoice(), KEYS, "anthropic", "claude-sonnet-5-5"),
        (ModelChoice(), {"OPENAI_API_KEY": "o"}, "openai", "gpt-6.1-terra"),
        (ModelChoice(model="gpt-5.4"), KEYS, "openai", "gpt-5.4"),
        (ModelChoice(model="claude-opus-5-5"), KEYS, "anthropic", "claude-opus-5-5"),
        (ModelChoice(provider="openai-chat"), KEYS, "openai", "gpt-6.1-terra"),
        (ModelChoice(), {"GEMINI_API_KEY": "g"}, "google", "gemini-3.1-pro-preview"),
        (ModelChoice(model="gemini-2.5-flash"), {**KEYS, "GEMINI_API_KEY": "g"}, "google", "gemini-2.5-flash"),
        (ModelChoice(provider="google"), {"GEMINI_API_KEY": "g"}, "google", "gemini-3.1-pro-preview"),
        (ModelChoice(), {}, "offline", "offline"),
        (ModelChoice(provider="offline"), KEYS, "offline", "offline"),
    ],
)
async def test_what_is_chosen(tmp_path: Path, wish: ModelChoice, env: dict[str, str], name: str, model: str) -> None:
    found = await choose_model(wish, config(tmp_path), env)
    assert (found.endpoint.name, found.model) == (name, model)
    assert found.window > 0


@pytest.mark.parametrize(
    "address",
    [
        "notaurl", "127.0.0.1:8080", "ftp://127.0.0.1", "http://", "https://:80", "http://[x", "http://x]",
        "http://127.0.0.1:99999", "http://127.0.0.1:port", "http://127.0.0.1:0", "http://127.0.0.1 y",
        "http://127.0.0.1/\udcff", "http://127.0.0.1/\x01",
    ],
)  # fmt: skip
async def test_an_address_that_no_request_can_be_made_of_is_refused_at_once(tmp_path: Path, address: str) -> None:
    for choice, flags, env, place in (
        (ModelChoice(base_url=address, model="m"), (), {}, "--base-url"),
        (ModelChoice(model="m"), (f"base_url={address}",), {}, "the setting base_url"),
        (ModelChoice(provider="anthropic"), (), {**KEYS, "ANTHROPIC_BASE_URL": address}, "ANTHROPIC_BASE_URL"),
        (ModelChoice(provider="openai"), (), {"OPENAI_API_KEY": "o", "OPENAI_BASE_URL": address}, "OPENAI_BASE_URL"),
    ):
        with pytest.raises(BadConfig) as caught:
            await choose_model(choice, config(tmp_path, "", *flags), env)
        assert caught.value.place == place and "http(s)://HOST" in caught.value.way_out


@pytest.mark.parametrize(
    "wish, env, said",
    [
        (ModelChoice(provider="anthropic"), {}, "ANTHROPIC_API_KEY"),
        (ModelChoice(provider="ollama"), {}, "does not answer"),
        (ModelChoice(provider="nobody"), {}, "there are anthropic"),
        (ModelChoice(model="claude-opus-5-5"), {}, "no key"),
        (ModelChoice(base_url="http://127.0.0.1:1/v1"), {}, "--model"),
    ],
)
async def test_what_is_not_there_says_the_way_out(
    tmp_path: Path, wish: ModelChoice, env: dict[str, str], said: str
) -> None:
    with pytest.raises(CtxtuiError) as caught:
        await choose_model(wish, config(tmp_path), env)
    assert said in str(caught.value)
    assert isinstance(caught.value, NotFound | BadConfig)


async def test_settings_choose_and_flags_win(tmp_path: Path) -> None:
    made = config(tmp_path, 'model = "claude-haiku-5-5"\n')
    assert (await choose_model(ModelChoice(), made, KEYS)).model == "claude-haiku-5-5"
    assert (await choose_model(ModelChoice(model="gpt-5.4"), made, KEYS)).model == "gpt-5.4"


@pytest.mark.parametrize(
    "model, env, name, taken",
    [
        ("gpt-6.1-terra", KEYS, "anthropic", "claude-sonnet-5-5"),
        ("claude-haiku-5-5", {"OPENAI_API_KEY": "o"}, "openai", "gpt-6.1-terra"),
        ("gpt-5.4", {"OPENAI_API_KEY": "o"}, "openai", "gpt-5.4"),
        ("offline", {}, "offline", "offline"),
        ("llama3.1", {}, "offline", "offline"),
    ],
)
async def test_a_project_chooses_a_model_of_the_provider_and_no_provider(
    tmp_path: Path, model: str, env: dict[str, str], name: str, taken: str
) -> None:
    found = await choose_model(ModelChoice(), config(tmp_path, f'model = "{model}"\n'), env)
    assert (found.endpoint.name, found.model) == (name, taken)
    assert ("not used" in found.why) == (taken != model)


async def test_a_key_goes_over_plain_http_only_where_the_user_says_so(tmp_path: Path) -> None:
    wish = ModelChoice(base_url="http://192.0.2.1:9/v1", model="m")
    bare = await choose_model(wish, config(tmp_path), KEYS)
    assert bare.endpoint.key == "" and not bare.endpoint.local and "key_over_http" in bare.why
    sent = await choose_model(wish, config(tmp_path, "", "key_over_http=true"), KEYS)
    assert sent.endpoint.key == "o"
    near = await choose_model(ModelChoice(base_url="http://127.0.0.1:9/v1", model="m"), config(tmp_path), KEYS)
    assert near.endpoint.key == "o" and near.endpoint.local


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/v1?key=k123", "http://me:k123@127.0.0.1:1/v1"])
async def test_a_key_in_an_address_is_not_shown(tmp_path: Path, address: str) -> None:
    chosen = await choose_model(ModelChoice(base_url=address, model="m"), config(tmp_path), {})
    assert chosen.endpoint.base_url == address and "127.0.0.1:1/v1" in chosen.why
    assert "k123" not in f"{chosen.why} {chosen.endpoint}"
    with pytest.raises(CtxtuiError) as caught:
        await choose_model(ModelChoice(base_url=address), config(tmp_path), {})
    assert "k123" not in str(caught.value)


@pytest.mark.parametrize(("name", "variable"), [("anthropic", "ANTHROPIC_BASE_URL"), ("openai", "OPENAI_BASE_URL")])
async def test_an_address_that_the_environment_gives_the_sdk_is_shown(tmp_path: Path, name: str, variable: str) -> None:
    env = {**KEYS, variable: "https://gateway.example/v1"}
    found = await choose_model(ModelChoice(name), config(tmp_path), env)
    assert str(found.endpoint) == f"{name} (https://gateway.example/v1)" and variable in found.why
    assert found.endpoint.key
    plain = await choose_model(ModelChoice(name), config(tmp_path), {**env, variable: "http://gateway.example"})
    assert plain.endpoint.key == "" and "key_over_http" in plain.why
    near = await choose_model(ModelChoice(name), config(tmp_path), {**env, variable: "http://127.0.0.1:4010"})
    assert near.endpoint.key and near.endpoint.base_url == "http://127.0.0.1:4010"


@pytest.mark.parametrize("maker", ["anthropic", "openai"])
async def test_headers_that_the_environment_adds_are_shown_and_go_where_a_key_goes(tmp_path: Path, maker: str) -> None:
    variable = f"{maker.upper()}_CUSTOM_HEADERS"
    env = {**KEYS, variable: "X-Gateway: Bearer abc\nX-Team:  red \nno header"}
    found = await choose_model(ModelChoice(maker), config(tmp_path), env)
    assert found.endpoint.headers == (("X-Gateway", "Bearer abc"), ("X-Team", "red"))
    assert f"{variable} adds X-Gateway, X-Team" in found.why and "abc" not in f"{found.why}{found!r}"
    elsewhere = {**env, f"{maker.upper()}_BASE_URL": "http://gateway.example"}
    plain = await choose_model(ModelChoice(maker), config(tmp_path), elsewhere)
    assert plain.endpoint.headers == () and f"{variable} is not sent over plain http" in plain.why
    for other in ({"anthropic": "openai", "openai": "anthropic"}[maker], "offline"):
        assert (await choose_model(ModelChoice(other), config(tmp_path), env)).endpoint.headers == ()


@pytest.mark.parametrize(
    "url, near",
    [
        ("http://127.0.0.1:8000/v1", True), ("http://localhost/v1", True), ("http://[::1]:1", True),
        ("http://127.9.9.9", True), ("http://0.0.0.0:11434", True), ("", False), ("https://api.example.com", False),
        ("http://evil.example/?//127.0.0.1", False), ("http://127.0.0.1.evil.example", False), ("http://[", False),
        ("http://127.0.0.1@evil.example/", False),
    ],
)  # fmt: skip
def test_what_is_this_machine(url: str, near: bool) -> None:
    assert is_loopback(url) is near


@pytest.mark.parametrize("routes, kind, window", [(LLAMA_CPP, "llama.cpp", 8192), (VLLM, "vllm", 16384)])
async def test_a_server_by_its_address(tmp_path: Path, routes: dict[str, Any], kind: str, window: int) -> None:
    async with served(routes) as server:
        found = await choose_model(ModelChoice(base_url=f"{server.root}/v1"), config(tmp_path), {})
    assert (found.endpoint.kind, found.window, found.endpoint.local) == (kind, window, True)


async def test_ollama_by_its_address_is_spoken_to_in_its_own_dialect(tmp_path: Path) -> None:
    async with served({**OLLAMA, "/v1/models": {"data": [{"id": "warm:7b", "owned_by": "library"}]}}) as server:
        found = await choose_model(ModelChoice(base_url=server.root), config(tmp_path), {})
        assert (found.endpoint.dialect, found.model, found.window) == ("ollama_chat", "warm:7b", 8192)
        under_v1 = await choose_model(ModelChoice(base_url=f"{server.root}/v1"), config(tmp_path), {})
        assert under_v1.endpoint.dialect == "openai_chat"


def test_a_window_above_the_models_own_names_file_value_maximum_and_fix(tmp_path: Path) -> None:
    with pytest.raises(BadConfig) as caught:
        config(tmp_path, 'theme = "dark"\n[windows]\n"claude-opus-4-5" = 500000\n')
    said = str(caught.value)
    assert "ctxtui.toml:" in said and "500,000" in said and "200,000" in said and "set it to 200000 or less" in said


def test_the_window_in_force(tmp_path: Path) -> None:
    small = config(tmp_path, '[windows]\n"tiny" = 2000\n')
    local = ChatModel(Endpoint("llama.cpp", "openai_chat", local=True), "tiny", window=4096, origin="llama.cpp")
    assert with_window(local, small).window == 2000
    assert with_window(local, config(tmp_path)).window == 4096
    assert params_for(local, Settings())["max_tokens"] == 1024, "a small window keeps room for what is asked"
    with pytest.raises(BadConfig, match="leaves no room"):
        with_window(local, config(tmp_path, "", "answer_tokens=4000"))
    with pytest.raises(BadConfig, match="leaves no room"):
        with_window(local, Config(Settings(answer_tokens=4000), {}))
    with pytest.raises(BadConfig, match=r"models\.tiny\.context_size = 5,000 is more than the 4,096") as caught:
        with_window(local, config(tmp_path, "[models.tiny]\ncontext_size = 5000\n"))
    assert "ctxtui.toml:" in caught.value.place


@pytest.mark.parametrize(
    "error, window",
    [
        ("400 This model's maximum context length is 2048 tokens. However, you requested 3123 tokens", 2048),
        ("Requested tokens (1525) exceed context window of 1024", 1024),
        ("request (5000 tokens) exceeds the available context size (4096 tokens)", 4096),
        ("400 the model is unhappy", 0),
        ("the maximum context length is 4,096 tokens", 0),
        ("the available context size (20481234567890 tokens)", 0),
    ],
)
def test_a_refusal_tells_the_window_of_a_server_that_does_not(tmp_path: Path, error: str, window: int) -> None:
    silent = with_window(
        ChatModel(Endpoint("x", "openai_chat", kind="llama-cpp-python", local=True), "m"), config(tmp_path)
    )
    assert (silent.window, silent.origin) == (4096, "assumed: the server does not report it")
    partner, told = learn_window(silent, error, config(tmp_path))
    if window:
        assert (partner.window, partner.origin) == (window, "the server's refusal") and "--n_ctx" in told
    else:
        assert (partner, told) == (silent, error)
    hosted = ChatModel(Endpoint("openai", "openai_chat"), "m")
    assert learn_window(hosted, error, config(tmp_path)) == (hosted, error), (
        "a provider's window is not the user's to set"
    )
    larger = config(tmp_path, '[windows]\n"m" = 9000\n')
    assert with_window(silent, larger).window == 9000, "what is only assumed does not bound the user's word"


def test_a_refusal_under_settings_that_ask_for_more_says_so_and_holds(tmp_path: Path) -> None:
    for settings in (config(tmp_path, '[windows]\n"m" = 8000\n'), config(tmp_path, "", "answer_tokens=4000")):
        silent = with_window(
            ChatModel(Endpoint("x", "openai_chat", kind="llama-cpp-python", local=True), "m"), settings
        )
        partner, told = learn_window(silent, "This model's maximum context length is 2048 tokens.", settings)
        assert partner.window == 2048 and "--n_ctx" in told and "2,048 tokens" in told


async def test_the_models_list_tells_window_and_longest_answer(tmp_path: Path) -> None:
    listed = {"data": [{"id": "claude-x", "max_input_tokens": 300_000, "max_tokens": 2000}, {"id": "claude-y"}]}
    async with served({"/v1/models": listed}) as server:
        line = SdkClient(Endpoint("anthropic", "anthropic", server.root, "k"))
        found = await add_listed_details(ChatModel(line.endpoint, "claude-x"), line, config(tmp_path))
        await line.close()
    assert (found.window, found.origin) == (300_000, "anthropic") and found.models == {
        "claude-x": 300_000,
        "claude-y": 0,
    }
    assert params_for(found, Settings())["max_tokens"] == 2000


@pytest.mark.parametrize("listed", [{"data": 5}, {"data": [{"id": 7}, {"id": "m", "max_input_tokens": True}, 1]}, [1]])
async def test_a_models_list_of_wrong_types_names_no_model(tmp_path: Path, listed: Any) -> None:
    async with served({"/v1/models": listed}) as server:
        line = SdkClient(Endpoint("anthropic", "anthropic", server.root, "k"))
        found = await add_listed_details(ChatModel(line.endpoint, "m", window=9), line, config(tmp_path))
        await line.close()
    assert found.window == 9 and found.models in ({}, {"m": 0})


async def test_the_offline_provider_by_name_is_a_choice_whatever_keys_there_are(tmp_path: Path) -> None:
    assert (await choose_model(ModelChoice(model="offline"), config(tmp_path), KEYS)).why == "your choice"


def test_the_default_model_is_that_of_the_provider_in_the_settings() -> None:
    assert default_model(Settings(), KEYS) == "claude-sonnet-5-5"
    assert default_model(Settings(provider="openai-chat"), KEYS) == "gpt-6.1-terra"


def test_a_known_server_on_another_machine_charges_nothing_but_prompts_leave_this_one() -> None:
    for address, stays in (("http://127.0.0.1:11434/api", True), ("http://192.168.0.9:11434/api", False)):
        model = ChatModel(Endpoint("ollama", "ollama_chat", address, kind="ollama", local=True), "qwen3")
        assert charges_nothing(model, 0.5) and stays_on_machine(model) is stays

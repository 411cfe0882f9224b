"""The servers of `scripts/install_servers.sh`, started on a free port with a model of random weights."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import THOROUGH

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-servers" / "bin" / "python"
NONE = os.environ.get("SERVERS") == "none"

Serve = Callable[..., object]


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model; without the servers `make test-all` fails, unless it was told SERVERS=none."""
    if NONE or not THOROUGH:
        pytest.skip("model servers run in make test-all only, and not with SERVERS=none")
    assert PYTHON.exists(), "scripts/install_servers.sh has not run"
    path = tmp_path_factory.mktemp("model") / "tiny.gguf"
    subprocess.run([PYTHON, Path(__file__).with_name("tiny_gguf.py"), path], check=True, capture_output=True)
    return path


@contextmanager
def llama_cpp_python(model: Path, window: int) -> Iterator[str]:
    """The base URL of llama-cpp-python's server with `model` in a window of so many tokens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [PYTHON, "-m", "llama_cpp.server", "--model", model, "--model_alias", "tiny"]
    log = model.with_name(f"{port}.log").open("wb")
    asked = [*map(str, command), "--n_ctx", str(window), "--port", str(port)]
    running = subprocess.Popen(asked, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://127.0.0.1:{port}/v1/models", running)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        running.wait(10)
        log.close()


def _wait(url: str, running: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert running.poll() is None, "the server has ended"
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")

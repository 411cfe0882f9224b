"""Every way in which this machine confines programs, a home folder with secrets, and a folder to work in."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtui.services.sandbox import confined as module
from ctxtui.services.sandbox.command import CommandResult
from ctxtui.services.sandbox.confinement import BWRAP, UNSHARE, Confinement, is_usable

Sh = Callable[..., CommandResult]

SECRETS = """
    .ssh/id_rsa .git-credentials .pypirc .claude/.credentials.json .codex/auth.json .local/share/opencode/auth.json
    .config/anthropic/key .cargo/credentials.toml .azure/msal_token_cache.json .cache/huggingface/token
    .huggingface/token .bash_history .local/share/ctxtui/ctxtui.db .config/op/config .password-store/a.gpg
    .terraform.d/credentials.tfrc.json .gem/credentials .pgpass .my.cnf .config/hub .config/rclone/rclone.conf
    .mozilla/firefox/x/logins.json .config/google-chrome/Default/Cookies .local/share/keyrings/login.keyring
    .aws/credentials .netrc .npmrc .config/gh/hosts.yml .docker/config.json .kube/config .config/ctxtui/config.toml
    .vault-token .config/sops/age/keys.txt .m2/settings.xml .gradle/gradle.properties .yarnrc.yml .config/pip/pip.conf
    .s3cfg .databrickscfg .config/fly/config.yml .config/doctl/config.yaml .oci/config .composer/auth.json
    .nuget/NuGet/NuGet.Config .fly/config.yml .pulumi/credentials.json .config/git/credentials .gitconfig
    notes/passwords.txt .rustup/../.zsh_history
""".split()


@pytest.fixture(params=[BWRAP, UNSHARE])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    name: str = request.param
    if not shutil.which(name) or not is_usable(name):
        pytest.skip(f"{name} is not permitted here")
    monkeypatch.setattr(module, "find_confinement", lambda root=None: Confinement(name))
    return name


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder, in which each of `SECRETS` holds a text."""
    folder = tmp_path / "home"
    for name in (*SECRETS, ".fly/bin/fly", ".pulumi/bin/pulumi", ".local/bin/tool"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("SECRETVALUE\n" if name in SECRETS else "#!/bin/sh\necho a tool of the user\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def root(home: Path) -> Path:
    folder = home / "code" / "work"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def sh(kind: str, root: Path) -> Sh:
    def run(script: str, folder: Path = root, **more: object) -> CommandResult:
        given = {"seconds": 60, **more}
        return asyncio.run(module.run_confined(["/bin/sh", "-c", script], folder, **given))  # type: ignore[arg-type]

    return run


def git(folder: Path, *arguments: str) -> str:
    """What git says, outside."""
    user = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    done = subprocess.run(["git", "-C", folder, *user, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(root: Path) -> Path:
    """The folder with one commit."""
    git(root, "init", "-q", "-b", "main")
    (root / "a.txt").write_text("a\n")
    git(root, "add", "a.txt")
    git(root, "commit", "-q", "-m", "first")
    git(root, "config", "user.name", "Ada")
    git(root, "config", "user.email", "ada@example.org")
    return root

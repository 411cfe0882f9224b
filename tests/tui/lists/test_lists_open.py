"""Every list that a command opens is where the command says."""

from __future__ import annotations

import subprocess
import sys

LOOK = """
from importlib import import_module
from ctxtui.tui.commands.command import Command
import ctxtui.tui.inspector.commands
import ctxtui.tui.chat.screen
from ctxtui.tui.lists.registry import ListCommand

def all_of(cls):
    return [cls, *(one for sub in cls.__subclasses__() for one in all_of(sub))]

opened = [one.opens for one in all_of(ListCommand) if one.opens]
assert len(opened) >= 7, opened
for path in opened:
    module, _, name = path.rpartition(".")
    getattr(import_module(module if "." in module else f"ctxtui.tui.lists.{module}"), name)
"""


def test_every_list_that_a_command_opens_is_there() -> None:
    done = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr

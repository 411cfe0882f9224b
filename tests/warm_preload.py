"""What the process of `tests/warm` has ready: the modules of every child, and vocabularies that are loaded."""

from __future__ import annotations

import tests.warm  # noqa: F401
from ctxtui.core import block
from ctxtui.offline.anthropic.models import OFFLINE
from ctxtui.offline.counting import text_counter
from ctxtui.services.config.package_data import model_table
from ctxtui.services.counting.counting import LocalCounts

text_counter(OFFLINE)("")
for model in ("claude-opus-4-6", "gpt-5"):
    LocalCounts().features(model_table().card(model), [block.text("a word")])

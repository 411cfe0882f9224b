"""The window that a run will have, before any server is asked: by the settings, the model's own files, the table."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ctxtui.analysis.context_window import running_window
from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config
from ctxtui.services.config.window_checks import check_size, check_usable, find_size, window_setting
from ctxtui.services.counting.books import table_for
from ctxtui.services.project.model_files import CONFIG, file_window, is_model_file
from ctxtui.services.project.model_hub import hub_window
from ctxtui.tokens.models import ModelCard


class ModelWindow(Struct, frozen=True):
    """The model `name` with its card; `window` and what of it is `usable` (tokens); `origin` says who told."""

    name: str
    card: ModelCard
    window: int
    usable: int
    origin: str


def model_window(model: str, config: Config, *, hub: bool = False) -> ModelWindow:
    """The window of `model`, which may be the path of a ``.gguf`` file or of a model's folder; where its `hub` is to be
    asked, its name there. Raises `BadConfig` where none is known or the settings ask for more than there is, and what
    reading the model's files or asking the hub raises."""
    settings = config.settings
    in_files = is_model_file(model)
    path = Path(model)
    name = (path.stem if model.endswith(".gguf") else path.resolve().name) if in_files else model
    card = table_for(settings).card(name)
    told, teller = (file_window(path) if in_files else 0), f"{path / CONFIG if path.is_dir() else path}"
    if hub and not in_files:
        told, teller = hub_window(model, os.environ)
    set_as, wanted = find_size(name, settings.context_sizes)
    origin = config.origins.get(window_setting(set_as, settings)) if set_as else None
    place = origin.place or origin.kind if origin is not None else "settings"
    if wanted and told:
        check_size(name, window_setting(set_as, settings), wanted, place, told)
    window = wanted or told or card.window or 0
    if not window:
        raise BadConfig(
            f"the window of {name} is not known",
            way_out=f"set it: --set 'models={{\"{name}\" = {{context_size = 32768}}}}', or in your configuration",
        )
    own = find_size(name, settings.usable_contexts)[1]
    check_usable(name, own, window, place)
    by = place if wanted else teller if told else "model table"
    return ModelWindow(name, card, window, running_window(window, settings.usable_share, own=own).usable, by)

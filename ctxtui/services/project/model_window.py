"""Finds a model's context window in settings, model files or the model table.

A hub is asked only if the user wants it; no server that runs models is asked.
"""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from ctxtui.analysis.context_window import usable_tokens
from ctxtui.core.errors import BadConfig
from ctxtui.services.config.config import Config
from ctxtui.services.config.window_checks import check_size, check_usable, find_size, window_origin, window_setting
from ctxtui.services.counting.books import table_for
from ctxtui.services.project.model_files import CONFIG, file_window, is_model_file
from ctxtui.services.project.model_hub import hub_window
from ctxtui.tokens.models import ModelCard


class ModelWindow(Struct, frozen=True):
    """The context window of the model `name` in tokens.

    `usable` is the part to fill, `origin` the source.
    """

    name: str
    card: ModelCard
    window: int
    usable: int
    origin: str


def model_window(model: str, config: Config, *, hub: bool = False) -> ModelWindow:
    """Find the context window of `model`: a name, a ``.gguf`` file or a model's folder.

    A size in the settings has priority over files and hub, and these over the model table. With `hub`, a name is looked
    up on the hub. Raises `BadConfig` if no window is known or the settings ask for more than there is, and what reading
    the files or the hub raises.
    """
    settings = config.settings
    name, path, model_size, source = model, Path(model), 0, ""
    if is_model_file(model):
        name = path.stem if model.endswith(".gguf") else path.resolve().name
        model_size, source = file_window(path), f"{path / CONFIG if path.is_dir() else path}"
    elif hub:
        model_size, source = hub_window(model, os.environ)
    card = table_for(settings).card(name)
    set_as, set_size = find_size(name, settings.context_sizes)
    origin = window_origin(set_as, config)
    place = origin.place or origin.kind if origin is not None else "settings"
    if set_size and model_size:
        check_size(name, window_setting(set_as, settings), set_size, place, model_size)
    window = set_size or model_size or card.window or 0
    if not window:
        raise BadConfig(
            f"the window of {name} is not known",
            way_out=f"set it: --set 'models={{\"{name}\" = {{context_size = 32768}}}}', or in your configuration",
        )
    usable_as, usable_setting = find_size(name, settings.usable_contexts)
    usable_origin = config.origins.get(f"models.{usable_as}")
    check_usable(usable_as, usable_setting, window, usable_origin.place if usable_origin is not None else "settings")
    usable = usable_tokens(window, settings.usable_share, usable_setting)
    return ModelWindow(name, card, window, usable, place if set_size else source if model_size else "model table")

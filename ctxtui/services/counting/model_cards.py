"""What is known of models here: the packaged table, under what the user's settings say of them."""

from __future__ import annotations

from ctxtui.services.config.package_data import model_table
from ctxtui.services.config.settings import Settings
from ctxtui.tokens.models import SETTING, ModelRule, ModelTable, plain_id


def table_for(settings: Settings, estimator: str = "") -> ModelTable:
    """The model table with the user's context windows over it; with an `estimator`, that counts for every model."""
    if estimator:
        # Imported here: few ask for one.
        from ctxtui.tokens.estimators import estimator_rule
    base = model_table().with_rules((estimator_rule(estimator),)) if estimator else model_table()
    figures: dict[str, dict[str, int]] = {}
    for name, own in (("window", settings.context_sizes), ("usable", settings.usable_contexts)):
        for model, tokens in own.items():
            figures.setdefault(plain_id(model), {})[name] = tokens
    return base.with_rules(tuple(ModelRule((model,), own, SETTING) for model, own in figures.items()))

"""What of a parametrized test runs in `make test`, where one case guards what twenty do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest


def few(values: Iterable[Any], count: int = 1) -> list[Any]:
    """`pytest.param`s of these values: the first `count` run in `make test`, the others are marked slow."""
    params = [value if hasattr(value, "marks") else pytest.param(value) for value in values]
    return [*params[:count], *map(_slow, params[count:])]


def few_rows(rows: Iterable[Sequence[Any]], count: int = 1) -> list[Any]:
    """As `few`, of rows of several arguments."""
    return few((row if hasattr(row, "marks") else pytest.param(*row) for row in rows), count)


def _slow(param: Any) -> Any:
    return pytest.param(*param.values, marks=(*param.marks, pytest.mark.slow), id=param.id)

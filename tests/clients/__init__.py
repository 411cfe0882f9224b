"""Real clients, run against the offline provider: part of `make test-all`."""

import pytest

pytest.register_assert_rewrite("tests.clients.cells")

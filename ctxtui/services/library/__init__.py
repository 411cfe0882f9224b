"""Sessions on Home: list, actions, totals, limits, preflight."""

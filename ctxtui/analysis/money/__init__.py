"""Costs of calls and their causes: by block, category and tool; the bill, savings, limits."""

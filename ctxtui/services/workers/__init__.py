"""The work of child processes: counting, indexing, totals, the lab, search, reports."""

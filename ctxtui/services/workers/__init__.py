"""What runs in child processes: counting, pricing, summaries, reports, search, indexing, tools."""

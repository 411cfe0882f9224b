"""Commands on money and limits: cost, stats, why, findings, preflight, budget, count, check."""

"""Commands about money and limits: cost, stats, why, findings, preflight, budget, count, check."""

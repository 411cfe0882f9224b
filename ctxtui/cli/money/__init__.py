"""Commands about money and limits: cost, stats, why, preflight, budget, count, check."""

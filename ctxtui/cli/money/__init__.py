"""Commands about money and limits: cost, why, preflight, budget, count, check."""

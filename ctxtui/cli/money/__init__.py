"""Commands about money and limits: cost, why, findings, preflight, budget, count, check."""

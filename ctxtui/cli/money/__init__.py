"""Commands about money and limits: cost, why, preflight, check."""

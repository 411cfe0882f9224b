<<<<<<< HEAD
"""Commands about money and limits: cost, why, findings, preflight, budget, count, check."""
=======
"""Commands about money and limits: cost, stats, why, preflight, budget, count, check."""
>>>>>>> main

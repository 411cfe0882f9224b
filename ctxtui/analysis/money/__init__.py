"""What calls cost and why: by block, category and tool; the bill, savings, limits."""

"""Home: summary, columns, rows, totals."""

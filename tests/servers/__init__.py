"""Model servers that are not ours, run for real: part of `make test-all`."""

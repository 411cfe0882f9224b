"""Splits request bodies into blocks and skeleton, and rebuilds them byte for byte."""

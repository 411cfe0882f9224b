"""Stands between a client and its provider: passes every byte on, and writes down what went each way."""

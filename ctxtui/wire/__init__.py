"""Converts each API's requests and answers to blocks; requests also back, byte for byte.

Each dialect has its own module.
"""

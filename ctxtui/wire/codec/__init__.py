"""Byte-exact decode/encode: frame, skeleton, styles, spans."""

"""Edits: their application, legality, repair and price tag, and the policies that propose them."""

"""Tables for list screens and CLI (on one Table[Row])."""

"""Counts the tokens of a block: vocabularies, raw features, weights learnt from reports, model cards."""

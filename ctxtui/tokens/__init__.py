"""Counts tokens of blocks: vocabularies, features, weights learnt from reports, model cards."""

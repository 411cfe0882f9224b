"""The rules that answer in place of a model: what is asked for, which tool fits, what is said."""

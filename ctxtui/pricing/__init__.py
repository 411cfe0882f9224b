"""The list price of a call, from its model, its usage and its date."""

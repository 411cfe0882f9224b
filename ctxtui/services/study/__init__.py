"""An open session worked out slice by slice."""

"""Building blocks of the readers: lines, records, whole files, messages, fields, times."""

"""What readers are built from: lines, records, whole files, messages, fields, times."""

"""What readers are built from: lines, records, whole files, dialogue, fields, timestamps."""

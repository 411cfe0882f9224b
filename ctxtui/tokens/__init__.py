"""Token counts: encoders, features and weights, image and tool formulas, model cards. Bytes in, numbers out."""

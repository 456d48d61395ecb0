"""The typed config, and the lookup of problems and algorithms by name."""

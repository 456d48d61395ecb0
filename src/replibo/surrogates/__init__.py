"""The models, with no idea of an optimiser."""

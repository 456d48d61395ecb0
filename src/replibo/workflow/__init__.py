"""What the workflow asks for: targets, estimates, the gallery."""

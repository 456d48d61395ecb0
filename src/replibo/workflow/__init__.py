"""Parts of the workflow: targets, estimates, the gallery."""

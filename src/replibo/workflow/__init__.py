"""Parts of the workflow: targets, estimates, pages. Wrong input raises a `RepliboError` of one line."""

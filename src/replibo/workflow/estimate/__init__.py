"""How long work takes and what it needs: from the timings that traces carry."""

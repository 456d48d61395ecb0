"""What several algorithms share; none of it is an algorithm."""

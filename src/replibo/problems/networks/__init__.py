"""The networks that problems train."""

"""Estimates of time and memory, from the timings that traces carry."""

"""Readers of published benchmarks, which are evaluated like our own."""

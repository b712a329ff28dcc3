"""Adapters to models: one file for each family or library."""

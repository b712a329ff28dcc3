"""The stages of the spine: one file for each asset, from artifacts to an artifact."""

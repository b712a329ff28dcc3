"""The stages of the spine: one file for each asset, each a function from artifacts to an artifact."""

"""The assets of BindBench: what exists and from what. No logic of the domain."""

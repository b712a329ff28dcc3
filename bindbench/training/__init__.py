"""Training of the small models that the embedded default ships with."""

"""A built suite in the formats that other projects read."""

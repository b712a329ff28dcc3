"""Frozen releases of a suite: a folder with a version, a checksum and a list of errata."""

"""Artifacts as folders of Parquet shards with a manifest beside them, on any file system."""

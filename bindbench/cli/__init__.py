"""The command ``bindbench``."""

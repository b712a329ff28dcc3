import sys
from pathlib import Path

# The makers of tiny checkpoints, and the caller of commands, are other tests' helpers.
sys.path += [str(Path(__file__).parents[2] / folder) for folder in ("models", "cli")]

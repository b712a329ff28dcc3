import sys
from pathlib import Path

# The makers of small suites are other tests' helpers.
sys.path.append(str(Path(__file__).parents[1] / "pipeline"))

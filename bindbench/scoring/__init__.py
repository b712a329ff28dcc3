"""Ways to turn what a model computes into scores of captions."""

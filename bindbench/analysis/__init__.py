"""What is computed from verdicts and stored scores: pure functions over plain arrays."""

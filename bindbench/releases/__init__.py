"""Models that are evaluated beside those of a suite: listed by the user, or found on the hub."""

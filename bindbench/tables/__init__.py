"""The tables of Auto-Comp, and those that it lacks, from whatever a suite has built."""

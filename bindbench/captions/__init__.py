"""Captions: the minimal grammar, the contextual writer's frames, slots, and the checks on them."""

"""ConMe: models converse to find questions about an image that other models get wrong.

Huang et al., "ConMe: Rethinking Evaluation of Compositional Reasoning for Modern VLMs" (2024). A
strong model and target models describe an image; the strong one asks what the others missed; each
question becomes choices between two options; what all targets answer right is dropped; and a
second, harder round follows.
"""

"""The validation checks: pure functions from detections, answers and pixels to verdicts.

They know no model: what an embedded detector, Grounding DINO with SAM2, or a vision-language
judge reports is checked alike.
"""

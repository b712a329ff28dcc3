"""What a generative model is asked before the caption that is scored."""

DEFAULT_PROMPT = "Describe the image."

# Three ways to ask for a caption, by which a model's sensitivity to the prompt is measured.
PROMPTS = {
    "describe": DEFAULT_PROMPT,
    "caption": "Write a caption for this image.",
    "see": "What do you see in this picture?",
}

"""Fine-tuning of contrastive models on hard negatives (Auto-Comp, section 5 and A.9)."""

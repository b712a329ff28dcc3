"""Questions to people: review tasks out, their answers in. One format for every audit."""

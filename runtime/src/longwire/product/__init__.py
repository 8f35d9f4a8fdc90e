"""A product's part: its catalog of tools, resources and prompts, and the answers to their calls."""

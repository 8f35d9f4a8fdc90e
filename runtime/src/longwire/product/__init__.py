"""What a product gives: its catalog of tools, resources and prompts, and how their calls are answered."""

"""Prompts: ready instructions for agents, and completions of their arguments."""

"""What is wrong with a frame: artefacts measured against the reference, with where and how bad, in words."""

"""The tools of a running measurement: those that read it, steer it, or score other files beside it."""

"""Tuning of encodes: encoders, searching for a quality, comparing, ladders, and quality by shot.

Built on scoring: an encode is scored while it is made. Commands and servers stand on top of this room.
"""

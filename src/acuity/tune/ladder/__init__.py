"""Bitrate ladders: sampling resolutions and qualities, choosing rungs on the hull, playlists and segments."""

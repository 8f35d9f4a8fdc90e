"""Quality by shot: finding shots, sampling long sources by them, and one quality for each of them."""

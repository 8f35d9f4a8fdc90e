"""The worst frames of a clip: choosing them, showing them, and saying what is wrong with them."""

"""Which frames of two videos show the same: signatures of pictures, and an aligner that compares them."""

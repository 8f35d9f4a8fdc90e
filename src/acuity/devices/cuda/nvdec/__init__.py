"""Decoding on the card: the decoders of NVIDIA's driver, behind the reader's own demuxer."""

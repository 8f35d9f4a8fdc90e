"""Frame alignment: signatures of pictures, and an aligner that finds which frames of two videos match."""

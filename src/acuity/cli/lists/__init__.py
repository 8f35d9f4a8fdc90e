"""Commands that list what there is: models, extractors, backends."""

"""Jobs as clients see them: documents, the tasks extension, and notifications of changes."""

"""Long work: a bounded queue, worker processes, progress, cancellation, and a memory of what was done."""

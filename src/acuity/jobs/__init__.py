"""Long work: a bounded queue, worker processes, progress, cancellation, and a store of jobs."""

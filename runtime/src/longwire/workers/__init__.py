"""Workers: processes that run the methods of clients, behind the worker contract."""

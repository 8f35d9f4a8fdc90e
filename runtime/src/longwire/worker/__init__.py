"""Workers in Python: tools, resources and prompts that a runtime such as `longwire serve` lets clients use.

    from longwire.worker import App

    app = App("greeter", "1.0")

    @app.tool()
    def greet(name: str) -> str:
        \"\"\"Greets somebody.\"\"\"
        return f"Hello, {name}!"

    if __name__ == "__main__":
        app.run()

`app.run()` listens on the socket of --socket or LONGWIRE_WORKER_SOCKET, and so does
`python -m longwire.worker module:app`. docs/worker-contract.md says more.
"""

from mcp.shared.exceptions import MCPError

from longwire.errors import ToolError
from longwire.worker.app import App

__all__ = ["App", "MCPError", "ToolError"]

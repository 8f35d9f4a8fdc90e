"""Workers in Python: tools, resources and prompts that a runtime such as `acuity serve` lets clients use.

    from longwire.worker import App

    app = App("greeter", "1.0")

    @app.tool()
    def greet(name: str) -> str:
        \"\"\"Greets somebody.\"\"\"
        return f"Hello, {name}!"

    if __name__ == "__main__":
        app.run()

`app.run()` listens on the socket of --socket or ACUITY_WORKER_SOCKET, and so does
`python -m longwire.worker module:app`. docs/worker-contract.md says more.
"""

from acuity.agents import check_installed

check_installed()

from mcp.shared.exceptions import MCPError  # noqa: E402

from longwire.errors import ToolError  # noqa: E402
from longwire.worker.app import App  # noqa: E402

__all__ = ["App", "MCPError", "ToolError"]

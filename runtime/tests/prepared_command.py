"""A command that is a prepared program to whoever starts it: `prepared_command.py SOCKET ARGUMENTS...`.

The program has its descriptors, arguments, environment and folder, gets its signals, and is killed when this
process is; the exit code is the program's. The process id is another. See prepared_programs.py.
"""

import json
import os
import signal
import socket
import sys

_LONGEST = 1 << 20  # bytes of an answer


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    given = [number for number in sorted(map(int, os.listdir("/proc/self/fd"))) if _is_open(number)]
    told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    told.connect(sys.argv[1])
    request = {
        "arguments": sys.argv[2:],
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "session": os.getsid(0) == os.getpid(),
        "descriptors": given,
    }
    socket.send_fds(told, [json.dumps(request).encode()], given)
    pid = json.loads(told.recv(_LONGEST))
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: os.kill(pid, number))
    for descriptor in given:
        os.close(descriptor)  # they are the program's: who reads its output sees its end
    code = json.loads(told.recv(_LONGEST))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)

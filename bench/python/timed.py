"""Runs a command and prints wall time, CPU time and largest RSS of it and its descendants, which Node cannot query."""

import json
import resource
import subprocess
import sys
import time

start = time.monotonic()
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
wall = time.monotonic() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(
    json.dumps(
        {
            'status': status,
            'wallSeconds': wall,
            'cpuSeconds': used.ru_utime + used.ru_stime,
            'peak': used.ru_maxrss * 1024,
        }
    )
)

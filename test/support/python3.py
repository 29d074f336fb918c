"""
A process that has imported PyTorch, and runs programs in forks of itself: python3.py SOCKET PID. Importing PyTorch takes a second
of processor time, a fork milliseconds. It ends when the socket's file is removed, or the process PID has ended.

A client sends one line of JSON with `args`, `env`, `cwd` and `input`, and gets `code`, `signal`, `stdout` and `stderr` when the
program has ended. If it closes the connection before, the program is killed.
"""
import json
import os
import select
import signal
import socket
import sys
import tempfile
import traceback
import types
import warnings

import torch  # noqa: F401: for the programs


def become(args, env, cwd, files):
    """What `python3 ARGS` would do; -W and -c are the options that tests use."""
    for number, file in enumerate(files):
        os.dup2(file.fileno(), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    while args[0] == "-W":
        warnings.simplefilter(args[1])
        args = args[2:]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if args[0] == "-c":
        sys.path[0] = ""
        sys.argv = ["-c", *args[2:]]
        code = compile(args[1], "<string>", "exec")
    else:
        sys.path[0] = os.path.dirname(os.path.realpath(args[0]))
        sys.argv = args
        main.__file__ = args[0]
        with open(args[0], "rb") as program:
            code = compile(program.read(), args[0], "exec")
    exec(code, main.__dict__)


def status_of(run):
    """The exit status of a program, with what Python prints of its error."""
    try:
        run()
        status = 0
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
        status = 0 if end.code is None else end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 255


def serve(connection):
    request = json.loads(connection.makefile("r").readline())
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(request["input"].encode())
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            run = lambda: become(request["args"], request["env"], request["cwd"], [given, out, err])  # noqa: E731
            os._exit(status_of(run))
        ended = os.pidfd_open(pid)
        if ended not in select.select([connection, ended], [], [])[0]:
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    answer = {"code": code, "signal": None} if code >= 0 else {"code": None, "signal": signal.Signals(-code).name}
    connection.sendall(json.dumps({**answer, "stdout": texts[0], "stderr": texts[1]}).encode())


def is_needed(path, pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return os.path.exists(path)


def main(path, pid):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks that serve
    if os.path.exists(path):
        os.remove(path)  # of a process that crashed
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    listener.settimeout(1)
    os.write(1, b"ready")  # in one piece
    while is_needed(path, pid):
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            serve(connection)
            os._exit(0)
        connection.close()


main(sys.argv[1], int(sys.argv[2]))

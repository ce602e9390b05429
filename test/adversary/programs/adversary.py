"""Programs that are built to be misjudged, chosen by name. See adversary.h."""

import array, asyncio, curses, multiprocessing, os, pty, queue, select, signal, socket, subprocess, sys, threading, time


def ready():
    os.write(1, b"READY\r\n")


def work():
    while True:
        sum(range(20000))
        time.sleep(0.02)


def read():
    ready()
    sys.stdin.readline()


# --- they wait for input ---------------------------------------------------------------


def thread_reads():
    lines = queue.Queue()
    threading.Thread(target=lambda: lines.put(sys.stdin.readline()), daemon=True).start()
    ready()
    lines.get()


def child_reads():
    context = multiprocessing.get_context("fork")

    def body():
        sys.stdin = open(0)
        read()

    child = context.Process(target=body)
    child.start()
    child.join()


def curses_without_delay():
    def look(screen):
        screen.nodelay(True)
        screen.addstr(0, 0, "READY")
        screen.refresh()
        while screen.getch() == -1:
            time.sleep(0.4)

    curses.wrapper(look)


def own_wakeup():
    """signal.set_wakeup_fd: a pipe to itself."""
    here, there = socket.socketpair()
    here.setblocking(False), there.setblocking(False)
    signal.set_wakeup_fd(there.fileno())
    ready()
    select.select([0, here], [], [])


def passed_outside():
    """A server that is no descendant gets the terminal and reads it."""
    server = socket.socket(socket.AF_UNIX)
    server.connect(sys.argv[2])
    server.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    ready()
    server.recv(1)


def passed_inside():
    """The same with a child that left the session before it was passed."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        os.setsid()
        os.close(0), os.close(1), os.close(2)
        fds = array.array("i")
        for level, kind, data in theirs.recvmsg(1, 64)[1]:
            fds.frombytes(data)
        os.read(fds[0], 100)
        os._exit(0)
    ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])
    ready()
    ours.recv(1)


def relay_to_a_reader():
    ready()
    pty.spawn(["cat"])


# --- they work -----------------------------------------------------------------------------


def loop_and_sleeping_child():
    async def body():
        asyncio.get_running_loop().add_reader(0, lambda: None)
        child = await asyncio.create_subprocess_exec("sleep", "60")
        ready()
        await child.wait()

    asyncio.run(body())


def input_while_a_thread_computes():
    threading.Thread(target=work, daemon=True).start()
    read()


def select_on_a_childs_pipe():
    here, there = os.pipe()
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    ready()
    select.select([0, here], [], [])


def cat_to_a_client():
    """cat | netclient: one reads the terminal, the other waits for its server."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    reads, writes = os.pipe()
    if os.fork() == 0:
        os.dup2(writes, 1)
        os.close(reads)
        client.close(), server.close()
        os.execvp("cat", ["cat"])
    os.close(writes)
    ready()
    select.select([reads, client], [], [])


def relay_to_work():
    ready()
    pty.spawn(["sleep", "60"])


globals()[sys.argv[1].replace("-", "_")]()

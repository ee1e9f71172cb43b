"""A minimal kernel of a Python session."""
import ast, builtins, json, os, signal, sys, traceback, linecache

fd = int(os.environ.pop("SANDBOX_RUN_KERNEL_FD"))
os.set_inheritable(fd, False)
channel = os.fdopen(fd, "r+b", buffering=0)
names = {"__name__": "__main__", "__builtins__": builtins}


def send(word, number, arg, value):
    data = json.dumps(value).encode()
    rest = memoryview(b"%s %d %s %d\n" % (word.encode(), number, arg.encode(), len(data)) + data)
    while rest:
        rest = rest[os.write(fd, rest):]


def receive():
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(fd, 1)
        if not byte:
            sys.exit(0)
        line += byte
    word, number, arg, length = line.split()
    data = b""
    while len(data) < int(length):
        data += os.read(fd, int(length) - len(data))
    return word.decode(), int(number), data.decode()


def execute(number, code):
    name = f"cell-{number}"
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    try:
        tree = ast.parse(code, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        if last:
            value = eval(compile(ast.Expression(last.value), name, "eval"), names)
            if value is not None:
                send("display", number, "-", {"text/plain": repr(value)})
        return "ok", {}
    except KeyboardInterrupt:
        print("KeyboardInterrupt", file=sys.stderr)
        return "interrupted", {}
    except SystemExit as end:
        return "exit", {"code": end.code if isinstance(end.code, int) else 0 if end.code is None else 1}
    except BaseException as err:
        trace = err.__traceback__.tb_next if not isinstance(err, SyntaxError) else None
        traceback.print_exception(type(err), err, trace)
        return "error", {"type": type(err).__name__, "message": str(err), "frames": []}


send("ready", 0, "-", {"version": sys.version.split()[0], "can": ["check", "vars"]})
while True:
    try:
        word, number, text = receive()
    except KeyboardInterrupt:
        continue
    if word == "execute":
        status, value = execute(number, text)
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except Exception:
            pass
        send("done", number, status, value)
        if status == "exit":
            os._exit(value["code"] & 255)
    elif word == "vars":
        send("answer", number, "ok", {"vars": [
            {"name": k, "type": type(v).__name__, "size": None, "value": repr(v)[:80]}
            for k, v in names.items() if not k.startswith("__")]})
    else:
        send("answer", number, "invalid", {})

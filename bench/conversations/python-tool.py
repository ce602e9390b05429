# A python tool as agents have it: code comes in, what it prints goes out, the state stays.
import contextlib
import io
import json
import sys
import traceback

state = {}
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(json.loads(line), state)
        except Exception:
            traceback.print_exc(limit=1, file=out)
    print(json.dumps(out.getvalue()), flush=True)
child = state.get("c")
if child is not None:
    child.close(force=True)

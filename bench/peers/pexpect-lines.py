"""pexpect as its documentation uses it: sendline, then expect a pattern of the prompt.

Driven by bench/attention.bench.ts with one JSON object a line; "told" is when expect() returned,
in CLOCK_MONOTONIC ns, or null when it timed out.
"""
import json, sys, time

import pexpect

lines = {}
for request in map(json.loads, sys.stdin):
    name = request["line"]
    if "argv" in request:
        child = pexpect.spawn(request["argv"][0], request["argv"][1:], dimensions=(40, 120), encoding="utf-8")
        child.delaybeforesend = None
        lines[name] = (child, request["pattern"])
        answer = {}
    else:
        child, pattern = lines[name]
        # What an earlier, too early answer left unread would be taken for this one's prompt.
        while child.expect([".+", pexpect.TIMEOUT], timeout=0) == 0:
            pass
        child.sendline(request["text"])
        matched = child.expect([pattern, pexpect.TIMEOUT], timeout=request["timeoutMs"] / 1000) == 0
        answer = {"told": str(time.monotonic_ns()) if matched else None}
    print(json.dumps(answer), flush=True)
for child, _ in lines.values():
    child.close(force=True)

"""Says something, computes for 300 ms without a word, and only then asks: as installers do."""
import time

while True:
    print("Resolving packages", flush=True)
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    input("Continue? [y/N] ")

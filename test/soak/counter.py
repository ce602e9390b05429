# Prints numbered lines of 12 bytes each in bursts until the file it is given exists, then a last line with
# their number, and exits with 7. What must be at any offset of its output is known.
import os, random, sys, time

stop, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
count = 0
while not os.path.exists(stop):
    burst = chance.choice([1, 2, 10, 100])
    sys.stdout.write("".join("%010d\n" % (count + i) for i in range(burst)))
    sys.stdout.flush()
    count += burst
    time.sleep(chance.random() * 0.05)
sys.stdout.write("E%09d\n" % count)
sys.stdout.flush()
sys.exit(7)

// Gives back each key at once, from a raw terminal: the quickest program there is to talk to.
#include <termios.h>
#include <unistd.h>

int main(void) {
	struct termios mode;
	char key;
	tcgetattr(0, &mode);
	cfmakeraw(&mode);
	tcsetattr(0, TCSANOW, &mode);
	if (write(1, "R", 1) != 1) return 1;
	while (read(0, &key, 1) == 1)
		if (write(1, &key, 1) != 1) return 1;
}

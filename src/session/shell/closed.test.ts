import { expect, test } from "vitest";
import { isClosed } from "./closed.ts";

test.each([
	["echo hi", true],
	["", true],
	["cat <<EOF\nhello\nEOF", true],
	["cat <<'A B' && cat <<-X\n1\nA B\n2\n\tX", true],
	['cat <<< "<<EOF"', false],
	["cat <<<word", true],
	["cat <<EOF\nhello", false],
	["cat <<EOF\nhello\n EOF", false],
	["cat <<A <<B\nA\nB", true],
	["cat <<A; cat <<A\n1\nA", true],
	["echo $((1<<4))", false],
	["true &&", false],
	["true ||\n", false],
	["echo |\n\n", false],
	["echo |&", false],
	["sleep 1 &", true],
	["echo '|'", true],
	["for x in 1 2", false],
	["true; for ((;;)\n", false],
	["if true; then select x in a b", false],
	["for x in 1 2; do echo $x; done", true],
	["echo what for", true],
	["case x in", false],
	["case x in a) echo;;", false],
	["case x in a) echo;; esac", true],
	["grep --ignore-case x", true],
])("%j may be followed by a line: %s", (text, closed) => {
	expect(isClosed(text)).toBe(closed);
});

// Tools that ask before they do something to a file.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program } from "../case.ts";

const files =
	(argv: readonly string[], make: (at: (name: string) => string, directory: string) => void) =>
	({ directory }: Place) => {
		make((name) => join(directory, name), directory);
		return argv;
	};
const two = (at: (name: string) => string) => {
	writeFileSync(at("a"), "one\n");
	writeFileSync(at("b"), "two\n");
};

export const cases: Case[] = [
	program("cp -i", files(["cp", "-i", "a", "b"], two), [
		{ truth: "line", shows: /overwrite 'b'\? $/ },
		{ line: "n", truth: "ended" },
	]),
	program("mv -i", files(["mv", "-i", "a", "b"], two), [
		{ truth: "line", shows: /overwrite 'b'\? $/ },
		{ line: "y", truth: "ended" },
	]),
	program(
		"unzip",
		files(["unzip", "z.zip"], (at, directory) => {
			two(at);
			execFileSync("zip", ["-q", "z.zip", "a", "b"], { cwd: directory });
		}),
		[
			{ truth: "line", shows: /replace a\?.*: $/ },
			{ line: "y", truth: "line", shows: /replace b\?.*: $/ },
			{ line: "N", truth: "ended" },
		],
		{ needs: ["zip", "unzip"] },
	),
	program(
		"patch",
		files(["patch", "-p0", "-i", "p.diff"], (at) => {
			writeFileSync(at("p.diff"), "--- nowhere\n+++ nowhere\n@@ -1 +1 @@\n-x\n+y\n");
		}),
		[
			{ truth: "line", shows: /File to patch: $/ },
			{ line: "", truth: "line", shows: /Skip this patch\? \[y\] $/ },
			{ line: "y", truth: "ended" },
		],
		{ needs: ["patch"] },
	),
	program(
		"fdisk",
		files(["fdisk", "disk"], (at) => writeFileSync(at("disk"), Buffer.alloc(4 << 20))),
		[
			{ truth: "line", shows: /Command \(m for help\): $/ },
			{ line: "n", truth: "line", shows: /Select \(default p\): $/ },
			{ line: "p", truth: "line", shows: /Partition number.*: $/ },
			{ keys: ["ctrl+c"], truth: "line" },
		],
		{ needs: ["fdisk"] },
	),
	program(
		"ssh-keygen",
		["ssh-keygen", "-t", "ed25519", "-f", "key"],
		[
			{ truth: "secret", shows: /Enter passphrase.*: $/ },
			{ line: "", truth: "secret", shows: /Enter same passphrase again: $/ },
			{ line: "", truth: "ended" },
		],
	),
	program(
		"openssl req",
		["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "k", "-out", "c"],
		[
			{ truth: "line", shows: /Country Name.*:$/ },
			{ line: "DE", truth: "line", shows: /State or Province.*:$/ },
		],
	),
	program(
		"openssl enc",
		files(["openssl", "enc", "-aes-256-cbc", "-pbkdf2", "-in", "a", "-out", "c"], two),
		[
			{ truth: "secret", shows: /enter .* password:$/ },
			{ line: "sesame", truth: "secret", shows: /Verifying.*:$/ },
			{ line: "sesame", truth: "ended" },
		],
		{ needs: ["openssl"] },
	),
	program(
		"gpg -c",
		files(["gpg", "--pinentry-mode", "loopback", "-c", "a"], two),
		[
			{ truth: "secret", shows: /Enter passphrase: $/ },
			{ line: "sesame", truth: "ended" },
		],
		{ needs: ["gpg"] },
	),
	program(
		"xargs -p",
		["sh", "-c", "printf 'a\\nb\\n' | xargs -p -n1 echo"],
		[
			{ truth: "line", shows: /echo a.*\?\.\.\.$/ },
			{ line: "y", truth: "line", shows: /echo b.*\?\.\.\.$/ },
			{ line: "n", truth: "ended" },
		],
	),
	program("find -ok", files(["find", "a", "-ok", "true", ";"], two), [
		{ truth: "line", shows: /< true \.\.\. a > \? $/ },
		{ line: "y", truth: "ended" },
	]),
	program(
		"tar, a label question",
		["sh", "-c", "tar -w -cf x.tar /etc/hostname 2>&1; sleep 30"],
		[
			{ truth: "line", shows: /add .*\?$/ },
			{ line: "y", truth: "busy" },
		],
	),
];

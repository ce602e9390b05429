// Questions of system tools: partitions, keys, accounts, packages.

import { execFileSync } from "node:child_process";
import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Case, type Place, program, type Step } from "../case.ts";

/** An empty disk of 64 MB, in a file. */
const disk =
	(...argv: string[]) =>
	({ directory }: Place) => {
		writeFileSync(join(directory, "disk"), "");
		truncateSync(join(directory, "disk"), 64 << 20);
		return argv;
	};

/** The machine's own tables stay as they are. */
const privately = (script: string) => [
	"unshare",
	"-m",
	"sh",
	"-c",
	`mount -t tmpfs none /var/spool/cron/crontabs; ${script}`,
];

/** A package's questions, asked by debconf with the given front end. */
const debconf =
	(frontend: string) =>
	({ directory }: Place) => {
		const at = (name: string) => join(directory, name);
		writeFileSync(
			at("demo.templates"),
			"Template: demo/name\nType: string\nDescription: What is the host called?\n The long text.\n\nTemplate: demo/sure\nType: boolean\nDescription: Shall it start now?\n The long text.\n\nTemplate: demo/secret\nType: password\nDescription: Password of the owner:\n The long text.\n",
		);
		writeFileSync(
			at("demo.config"),
			"#!/bin/sh\n. /usr/share/debconf/confmodule\ndb_x_loadtemplatefile ./demo.templates demo\ndb_input critical demo/name\ndb_go\ndb_input critical demo/sure\ndb_go\ndb_input critical demo/secret\ndb_go\nexec sleep 30\n",
			{ mode: 0o755 },
		);
		writeFileSync(
			at("debconf.conf"),
			`Config: c\nTemplates: t\n\nName: c\nDriver: File\nFilename: ${at("c.dat")}\n\nName: t\nDriver: File\nFilename: ${at("t.dat")}\n`,
		);
		return [
			"env",
			`DEBCONF_SYSTEMRC=${at("debconf.conf")}`,
			"debconf",
			"-f",
			frontend,
			"-p",
			"low",
			"--owner=demo",
			"./demo.config",
		];
	};
const asks: Step[] = [
	{ truth: "screen", shows: /called/ },
	{ line: "exchange", truth: "screen", shows: /start now/ },
	{ keys: ["enter"], truth: "screen", shows: /Password/ },
];

export const cases: Case[] = [
	program(
		"parted",
		disk("parted", "disk"),
		[
			{ truth: "line", shows: /\(parted\) $/ },
			{ line: "mklabel", truth: "line", shows: /New disk label type\? $/ },
			{ line: "gpt", truth: "line", shows: /\(parted\) $/ },
			{ line: "mkpart", truth: "line", shows: /Partition name\?/ },
		],
		{ needs: ["parted"] },
	),
	program(
		"gdisk",
		disk("gdisk", "disk"),
		[
			{ truth: "line", shows: /Command \(\? for help\): $/ },
			{ line: "n", truth: "line", shows: /Partition number/ },
			{ line: "", truth: "line", shows: /First sector/ },
		],
		{ needs: ["gdisk"] },
	),
	program(
		"cfdisk",
		disk("cfdisk", "disk"),
		[
			{ truth: "screen", shows: /Select label type/ },
			{ keys: ["enter"], truth: "screen", shows: /Free space/ },
			{ keys: ["right"], truth: "screen" },
		],
		{ needs: ["cfdisk"] },
	),
	program(
		"cryptsetup",
		disk("cryptsetup", "luksFormat", "--type", "luks1", "disk"),
		[
			{ truth: "line", shows: /Type 'yes' in capital letters\): $/ },
			{ line: "YES", truth: "secret", shows: /Enter passphrase.*: $/ },
			{ line: "open-sesame", truth: "secret", shows: /Verify passphrase: $/ },
			{ line: "something else", truth: "ended" },
		],
		{ needs: ["cryptsetup"], user: "root" },
	),
	program(
		"visudo",
		({ directory }) => {
			writeFileSync(join(directory, "sudoers"), "broken broken\n", { mode: 0o440 });
			return ["env", "EDITOR=/bin/true", "visudo", "-f", "sudoers"];
		},
		[
			{ truth: "line", shows: /What now\? $/ },
			{ line: "?", truth: "line", shows: /Options are[\s\S]*What now\? $/ },
			{ line: "x", truth: "ended" },
		],
		{ needs: ["visudo"], user: "root" },
	),
	program(
		"crontab -e",
		privately("crontab -e"),
		[
			{ truth: "screen", shows: /# / },
			{ line: ":q!", truth: "ended" },
		],
		{ needs: ["crontab", "mounts", "vim"], env: { EDITOR: "vim -u NONE -N" }, user: "root" },
	),
	program(
		"crontab -ri",
		privately("echo '0 0 1 1 * true' | crontab -u games -; crontab -u games -ri"),
		[
			{ truth: "line", shows: /\(y\/n\) $/ },
			{ line: "y", truth: "ended" },
		],
		{ needs: ["crontab", "mounts"], user: "root" },
	),
	program(
		"chfn",
		["chfn", "games"],
		[
			{ truth: "line", shows: /Full Name \[.*\]: $/ },
			{ line: "games", truth: "line", shows: /Room Number \[.*\]: $/ },
			{ keys: ["ctrl+c"], truth: "ended" },
		],
		{ user: "root" },
	),
	program(
		"chsh",
		["chsh", "games"],
		[
			{ truth: "line", shows: /Login Shell \[.*\]: $/ },
			{ keys: ["ctrl+c"], truth: "ended" },
		],
		{ user: "root" },
	),
	program(
		"debconf, readline",
		debconf("readline"),
		[
			{ truth: "line", shows: /called\? $/ },
			{ line: "exchange", truth: "line", shows: /start now\? $|\[yes\/no\] $/ },
			{ line: "yes", truth: "secret", shows: /Password of the owner: $/ },
			{ line: "sesame", truth: "busy" },
		],
		{ user: "root" },
	),
	program("debconf, dialog", debconf("dialog"), [...asks, { line: "sesame", truth: "busy" }], {
		user: "root",
		needs: ["whiptail", "dialog"],
	}),
	program(
		"dpkg asks about a configuration",
		({ directory }) => {
			const script = [
				"set -e; mkdir -p p/DEBIAN p/etc root/var/lib/dpkg/info root/var/lib/dpkg/updates; touch root/var/lib/dpkg/status",
				"for v in 1 2; do printf 'Package: demo\\nVersion: %s\\nArchitecture: all\\nMaintainer: a <a@b>\\nDescription: d\\n' $v > p/DEBIAN/control",
				"echo /etc/demo.conf > p/DEBIAN/conffiles; echo version $v > p/etc/demo.conf; dpkg-deb -b p demo$v.deb; done",
				"dpkg --root=$PWD/root --force-not-root -i demo1.deb; echo mine > root/etc/demo.conf",
			].join("\n");
			execFileSync("sh", ["-c", script], { cwd: directory, stdio: "pipe" });
			return ["dpkg", `--root=${directory}/root`, "-i", "demo2.deb"];
		},
		[
			{ truth: "line", shows: /\[default=N\] \? $/ },
			{ line: "D", truth: "line", shows: /\+version 2[\s\S]*\[default=N\] \? $/ },
			{ line: "N", truth: "ended" },
		],
		{ user: "root", env: { PAGER: "cat" } },
	),
	program(
		"gpg --gen-key",
		({ directory }) => {
			execFileSync("mkdir", ["-m", "700", join(directory, "gnupg")]);
			return ["gpg", "--homedir", "gnupg", "--full-generate-key"];
		},
		[
			{ truth: "line", shows: /Your selection\? $/ },
			{ line: "9", truth: "line", shows: /Your selection\? $/ },
			{ line: "1", truth: "line", shows: /keysize do you want\?.* $/ },
			{ line: "", truth: "line", shows: /Key is valid for\? \(0\) $/ },
			{ line: "0", truth: "line", shows: /Is this correct\? \(y\/N\) $/ },
			{ line: "y", truth: "line", shows: /Real name: $/ },
		],
		{ needs: ["gpg"] },
	),
	program(
		"openssl s_client waits for a server",
		["openssl", "passwd", "-6"],
		[
			{ truth: "secret", shows: /Password: $/ },
			{ line: "sesame", truth: "secret", shows: /Verifying - Password: $/ },
			{ line: "sesame", truth: "ended" },
		],
		{ name: "openssl passwd" },
	),
	program(
		"cpan",
		({ directory }) => {
			writeFileSync(join(directory, "a"), "");
			return ["env", "PERL_MM_USE_DEFAULT=0", "perl", "-MCPAN", "-e", "shell"];
		},
		[{ truth: "line", shows: /\[yes\] $/ }],
		{ needs: ["prove"] },
	),
	program(
		"sdiff -o",
		({ directory }) => {
			writeFileSync(join(directory, "a"), "one\ntwo\n");
			writeFileSync(join(directory, "b"), "one\nthree\n");
			return ["sdiff", "-o", "c", "a", "b"];
		},
		[
			{ truth: "line", shows: /%$/ },
			{ line: "l", truth: "ended" },
		],
	),
	program(
		"newgrp",
		["sg", "games", "-c", "cat"],
		[{ truth: "line" }, { line: "hello", truth: "line", shows: /hello\nhello/ }],
		{ user: "root", name: "sg" },
	),
	program(
		"busybox login",
		["busybox", "login"],
		[
			{ truth: "line", shows: /login: $/ },
			{ line: "nobody-here", truth: "secret", shows: /Password: $/ },
			{ line: "wrong", truth: "busy", forMs: 700 },
		],
		{ user: "root", needs: ["busybox"] },
	),
	program(
		"busybox fdisk",
		disk("busybox", "fdisk", "disk"),
		[
			{ truth: "line", shows: /Command \(m for help\): $/ },
			{ line: "n", truth: "line", shows: /e\s+extended/ },
		],
		{ needs: ["busybox", "fdisk"] },
	),
];

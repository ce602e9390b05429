// Which real programs this machine has. In CI a missing one is a failure; on
// a developer's machine it is a skip that names the package.

import { accessSync, constants, readdirSync } from "node:fs";
import { join } from "node:path";

/** Programs whose Debian package has another name. */
const PACKAGE: Readonly<Record<string, string>> = {
	cc: "gcc",
	fdfind: "fd-find",
	irb: "ruby",
	tclsh: "tcl",
	ping: "iputils-ping",
	php: "php-cli",
	script: "bsdutils",
	setsid: "util-linux",
	flock: "util-linux",
	su: "util-linux",
	chsh: "passwd",
	top: "procps",
	watch: "procps",
	initdb: "postgresql",
	nginx: "nginx-light",
	gp: "pari-gp",
	guile: "guile-3.0",
	emacs: "emacs-nox",
	gnuplot: "gnuplot-nox",
	swipl: "swi-prolog-nox",
	gpg: "gnupg",
	lua: "lua5.4",
	mariadb: "mariadb-client",
	mariadbd: "mariadb-server",
	"mariadb-install-db": "mariadb-server",
	nvim: "neovim",
	pg_ctl: "postgresql",
	postgres: "postgresql",
	psql: "postgresql-client",
	"redis-cli": "redis-tools",
	ssh: "openssh-client",
	sshd: "openssh-server",
	prlimit: "util-linux",
	scriptreplay: "bsdutils",
	setpriv: "util-linux",
	unshare: "util-linux",
};

/** Servers live where a plain PATH does not look. */
const directories = [...(process.env.PATH ?? "").split(":"), "/usr/sbin", "/sbin", ...postgresDirectories()];

function postgresDirectories(): string[] {
	try {
		return readdirSync("/usr/lib/postgresql").map((version) => join("/usr/lib/postgresql", version, "bin"));
	} catch {
		return []; // not installed
	}
}

/** The full path of a program, or null. */
export function find(program: string): string | null {
	for (const directory of directories) {
		const path = join(directory, program);
		try {
			accessSync(path, constants.X_OK);
			return path;
		} catch {
			// not here
		}
	}
	return null;
}

const told = new Set<string>();

/** Whether all of them are here. */
export function needs(...programs: string[]): boolean {
	const missing = programs.filter((program) => find(program) === null);
	if (missing.length === 0) return true;
	const packages = missing.map((program) => PACKAGE[program] ?? program).join(" ");
	if (process.env.CI) throw new Error(`missing in CI: install ${packages}`);
	if (!told.has(packages)) console.warn(`skipped: install ${packages} to run it`);
	told.add(packages);
	return false;
}

/** For what only root may provoke: private mounts, other users. */
export function needsRoot(): boolean {
	if (process.getuid?.() === 0) return true;
	if (!told.has("root")) console.warn("skipped: needs root");
	told.add("root");
	return false;
}

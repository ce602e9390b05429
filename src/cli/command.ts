// What a command of the command line is: one declared record. Parsing, help and
// completion are each derived from the list of these records in commands.ts.

import type { Fault } from "../protocol/fault.ts";
import type { FleetStatus, FleetWish } from "../protocol/fleet.ts";
import type { Scope } from "../session/scope.ts";
import type { ListedSecret } from "../session/secrets.ts";
import type { Caller } from "../session/start-spec.ts";
import type { Client, DaemonStatus, Role, ToolCard, ToolSet } from "../tools/client.ts";
import type { Flags, KINDS } from "./flags.ts";

export interface Flag {
	/** What its value is and how it is read: flags.ts. A switch has none. */
	readonly kind: keyof typeof KINDS | "switch";
	readonly short?: string;
	/** May be given several times. */
	readonly multiple?: true;
	/** What the value is called in help, where its kind does not say it: `NAME`. */
	readonly value?: string;
	/** The values it can have. */
	readonly choices?: readonly string[];
	/** The least number. */
	readonly least?: number;
	/** With this other flag its value is another system's: it is taken as it is. */
	readonly unless?: string;
	/** What it is where it is not given, for help. */
	readonly default?: string;
	readonly summary: string;
}

/** A word after the command's name. Usage, completion and what is refused follow from it. */
export interface Word {
	/** As in the usage line: `SESSION`. */
	readonly name: string;
	/** The field of the tool's input that it fills. */
	readonly field?: string;
	/** What completes it. */
	readonly is?: "session" | "running session" | "ended session" | "command" | "verb" | readonly string[];
	readonly optional?: true;
	/**
	 * Takes every word that follows; `command`: these are another program's, flags included;
	 * `each`: the command is carried out for one after the other.
	 */
	readonly rest?: "words" | "command" | "each";
}

export interface Command {
	readonly name: string;
	readonly aliases?: readonly string[];
	readonly summary: string;
	readonly words?: readonly Word[];
	readonly flags?: Readonly<Record<string, Flag>>;
	/** More lines for `dialtone help COMMAND`. */
	readonly more?: string;
	/** Complete command lines, for help. */
	readonly examples?: readonly string[];
	/** Left out of help. */
	readonly hidden?: true;
	readonly run: (invocation: Invocation) => Promise<number>;
}

/** A command's input and output: the process's, or a test's. */
export interface Io {
	out(text: string | Uint8Array): void;
	err(text: string): void;
	readonly stdin: NodeJS.ReadStream;
	readonly stdout: NodeJS.WriteStream;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
}

/** What main.ts passes to the commands: the other interfaces, none of which this layer imports. */
export interface Dependencies {
	readonly version: string;
	/** Who calls: sessions of others are told apart. */
	readonly owner: string;
	/** The caller, for what a person only looks at: an agent may share the owner, and is told as before. */
	observer(): Caller;
	/** The client, starting the daemon where none runs. */
	connect(): Promise<Client>;
	/** The client of a daemon that already runs, or null. */
	peek(): Promise<Client | null>;
	readonly daemon: {
		/** Null if none runs. */
		status(): Promise<DaemonStatus | null>;
		/** Null if none ran. */
		stop(options: { sessions: boolean }): Promise<StoppedDaemon | null>;
		restart(): Promise<DaemonStatus>;
		/** Lock files that cannot be read. */
		corruptLocks(): readonly string[];
		/** Runs the daemon in this process until it is stopped. */
		run(): Promise<number>;
	};
	readonly fleet: {
		/** The fleet that the daemon is a member of, after that; null where it is of none. */
		ask(act: "status" | "leave" | FleetWish): Promise<FleetStatus | null>;
		/** Removes what the fleet keeps of a host that is gone; how many sessions that were. */
		forget(host: string): Promise<number>;
		/** What writes the files of a fleet. */
		files(): Promise<FleetFiles>;
	};
	serve(options: ServeOptions): Promise<number>;
	readonly page: PageLinks;
	mcp(options: { sets: readonly ToolSet[] }): Promise<number>;
	/** The text for the hosts' configuration files. */
	mcpHelp(): Promise<string>;
	/** The words that start this command line: `dialtone` where that is on the PATH. */
	self(): readonly string[];
	/** The tools without contacting a daemon. */
	toolCards(sets: readonly ToolSet[]): Promise<readonly ToolCard[]>;
	tokens(): Promise<TokenStore>;
	secrets(): Promise<SecretStore>;
	/** Throws where this process is inside a session, or confined: for what is read from the owner's files. */
	refuseConfined(): Promise<void>;
	/** Where everything is kept. */
	readonly stateDir: string;
	/** The fault, if this error means that nothing can be kept there. */
	homeFault(error: unknown): Fault | null;
	/** Where a session's files are. */
	sessionDir(session: string): string;
	readonly holderPath: string;
}

/** The servers' configuration and the users' credentials, in a directory. */
export interface FleetFiles {
	/** The credentials files. */
	initFleet(
		directory: string,
		plan: { readonly nodes?: readonly FleetServer[]; readonly tenants?: readonly string[] },
	): readonly string[];
	/** Its directory. */
	addLeaf(directory: string, tenant: string, leaf: FleetServer): string;
	addUser(directory: string, tenant: string, user: NewFleetUser): string;
	removeUser(directory: string, tenant: string, name: string): void;
	addTenant(directory: string, tenant: string): readonly string[];
}

export interface FleetServer {
	readonly name: string;
	readonly host: string;
	readonly port: number;
}

export interface NewFleetUser {
	readonly name: string;
	readonly role: "host" | Role;
	readonly owner: string | null;
	readonly host: string | null;
}

export interface StoppedDaemon {
	readonly pid: number;
	/** The sessions that keep running. */
	readonly left: readonly string[];
}

export interface ServeOptions {
	readonly foreground: boolean;
	readonly port: number;
	/** The port was chosen: refuse where HTTP is open on another one. */
	readonly exact: boolean;
	/** For other machines, with absolute paths; without it, on loopback. */
	readonly tls?: {
		readonly host: string;
		readonly names: readonly string[];
		readonly cert: string;
		readonly key: string;
	};
	readonly say: (text: string) => void;
}

/** Links to the page, each good for one browser. */
export interface PageLinks {
	/** Has the daemon serve HTTP for as long as it runs; its address. */
	open(where: { readonly port: number; readonly exact: boolean }): Promise<string>;
	/** For the person. */
	loginLink(url: string): Promise<{ readonly link: string; readonly expiresAt: number }>;
	/** For a viewer of one session. */
	shareLink(
		url: string,
		session: { readonly id: string; readonly name: string; readonly minutes: number },
	): Promise<{ readonly id: string; readonly link: string; readonly expiresAt: number }>;
}

export interface ListedToken {
	readonly id: string;
	readonly name: string;
	readonly createdAt: number;
	readonly role: Role;
	readonly expiresAt: number | null;
	readonly scope: Scope | null;
	/** A link that was not opened yet. */
	readonly link: boolean;
}

/** The part of http/tokens.ts that the command line uses. */
export interface TokenStore {
	create(options: {
		readonly name: string;
		readonly role: Role;
		readonly scope: Scope | null;
		readonly expiresAt: number | null;
	}): { id: string; token: string };
	list(): readonly ListedToken[];
	revoke(idOrName: string): readonly string[];
	readonly file: string;
}

/** The part of session/secrets.ts that the command line uses. */
export interface SecretStore {
	list(): readonly ListedSecret[];
	/** Throws where its value cannot be read; false: a person types it. */
	test(name: string): Promise<boolean>;
	readonly file: string;
}

export interface Invocation {
	readonly command: Command;
	readonly words: readonly string[];
	readonly flags: Flags;
	readonly json: boolean;
	readonly dependencies: Dependencies;
	readonly io: Io;
}

// Named secrets: who may have which one typed, and where its value is. The value goes from its source to the
// terminal; a caller sees the name. Whether the program at the terminal may have it is secret-typing.ts's part.

import { type ExecFileException, execFile } from "node:child_process";
import { isAbsolute } from "node:path";
import { promisify } from "node:util";
import { Fault } from "../protocol/fault.ts";
import { MAX_SECRET_CHARS } from "../protocol/masking.ts";
import { problemOf, readPrivately } from "../pty/checked-file.ts";
import { matchesGlob, type NamedSecret, type Policy, type SecretSource } from "./policy.ts";
import { maskFromNowOn } from "./secret-spellings.ts";

/** A person may have to touch a key for it; `send` waits meanwhile. */
const COMMAND_MS = 10_000;
/** What a command such as `pass` or `gpg` needs to work, and no more. */
const COMMAND_VARIABLES = ["HOME", "PATH", "USER", "LOGNAME", "LANG", "GNUPGHOME", "PASSWORD_STORE_DIR"];

const TOO_MUCH = "ERR_CHILD_PROCESS_STDIO_MAXBUFFER";
const run = promisify(execFile);

export interface ListedSecret {
	readonly name: string;
	readonly from: string;
	readonly owners: readonly string[] | null;
	readonly programs: readonly string[] | null;
	readonly description: string | null;
}

type Variables = Readonly<Record<string, string | undefined>>;

export class Secrets {
	readonly #policy: Pick<Policy, "current">;
	readonly #env: Variables;

	/** `env` has the variables that secrets are taken from. */
	constructor(policy: Pick<Policy, "current">, env: Variables) {
		this.#policy = policy;
		this.#env = env;
	}

	/** Those that are a secret's source. While the policy cannot be used, nothing is started anyway. */
	variables(): readonly string[] {
		return secretVariables(this.#policy.current().secrets);
	}

	list(): readonly ListedSecret[] {
		return Object.entries(this.#policy.current().secrets).map(([name, { from, owners, programs, description }]) => ({
			name,
			from: describeSource(from),
			owners: owners ?? null,
			programs: programs ?? null,
			description: description ?? null,
		}));
	}

	/** The secret of this name. One that this owner may not use is as unknown as one that does not exist. */
	named(name: string, owner: string): NamedSecret {
		const { secrets } = this.#policy.current();
		const secret = Object.hasOwn(secrets, name) ? secrets[name] : undefined;
		const allowed = secret?.owners?.some((pattern) => matchesGlob(pattern, owner)) ?? true;
		if (secret === undefined || !allowed) throw new Fault("secret_unknown", { name });
		return secret;
	}

	/** Its value, masked everywhere from now on; null where a person has to type it. */
	async read(name: string, { from }: NamedSecret, signal?: AbortSignal): Promise<string | null> {
		if ("person" in from) return null;
		const unreadable = (problem: string) => new Fault("secret_unreadable", { name, problem });
		let value: string;
		if ("env" in from) {
			value = this.#env[from.env] ?? "";
		} else if ("file" in from) {
			value = readLine(from.file, unreadable);
		} else {
			value = await printed(from.command, { env: this.#env, signal, unreadable });
		}
		const line = value.replace(/\r?\n$/, "");
		if (line === "") throw unreadable("env" in from ? "the daemon was started without this variable" : "it is empty");
		maskFromNowOn(line);
		if (line.length > MAX_SECRET_CHARS) throw unreadable(`it has more than ${MAX_SECRET_CHARS} characters`);
		if (/[\p{Cc}]/u.test(line)) throw unreadable("it is not one line of text");
		return line;
	}
}

/** Variables that are a secret's source: no program inherits them. */
export function secretVariables(secrets: Readonly<Record<string, NamedSecret>>): readonly string[] {
	return Object.values(secrets).flatMap(({ from }) => ("env" in from ? [from.env] : []));
}

function describeSource(from: SecretSource): string {
	if ("file" in from) return `file ${from.file}`;
	if ("env" in from) return `variable ${from.env}`;
	return "command" in from ? `command ${from.command[0]}` : "a person";
}

function readLine(file: string, unreadable: (problem: string) => Fault): string {
	if (!isAbsolute(file)) throw unreadable("its file has no absolute path");
	try {
		return readPrivately(file);
	} catch (error) {
		throw unreadable(`its file ${problemOf(error)}`);
	}
}

/** What a command prints. A failure says why, and has nothing of its output. */
async function printed(
	[program, ...args]: readonly string[],
	{
		env,
		signal,
		unreadable,
	}: { env: Variables; signal: AbortSignal | undefined; unreadable: (problem: string) => Fault },
): Promise<string> {
	const own = Object.fromEntries(COMMAND_VARIABLES.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
	const options = { cwd: "/", timeout: COMMAND_MS, killSignal: "SIGKILL", maxBuffer: 4 * MAX_SECRET_CHARS } as const;
	try {
		const running = run(program!, args, { ...options, env: own, ...(signal && { signal }) });
		running.child.stdin?.end();
		return (await running).stdout;
	} catch (error) {
		const { killed, code, signal: by } = error as ExecFileException;
		if (killed && code !== TOO_MUCH) throw unreadable(`its command did not end within ${COMMAND_MS / 1000} s`);
		if (typeof code === "number") throw unreadable(`its command failed (exit code ${code})`);
		throw unreadable(`its command could not be used (${code ?? by ?? "stopped"})`);
	}
}

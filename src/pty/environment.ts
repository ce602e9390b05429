// The environment of a program: its caller's, without what looks like a credential, then the
// terminal's variables, then those set by the call. docs/environment.md explains the lists.
//
// Up to 0.1 only an allow-list passed. Users expect their environment (DATABASE_URL, NODE_ENV, http_proxy): a
// program that lacks it fails in ways that nobody connects with us. So everything passes but what
// these patterns name. They cannot know every key: what must not reach programs at all is kept by
// `inherit: "none"`, or named in the option `withhold`.
//
// Filtered where the caller is, before anything is sent: the daemon never sees what programs do not get.

/** What a program inherits: only what programs need to work, all but credentials, or all. */
export const INHERIT = ["none", "safe", "all"] as const;
export type Inherit = (typeof INHERIT)[number];

type Variables = Readonly<Record<string, string | undefined>>;

/** What programs need to work at all, whatever is chosen. */
const BASIC = ["PATH", "HOME", "SHELL", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR"];

/** Names that are withheld by `safe`, by the reason for it. A star is any text; letter case does not count. */
export const WITHHELD = {
	"look like a credential": [
		..."*_KEY *_KEY_ID *APIKEY *API_KEY* *ACCESS_KEY* *PRIVATE_KEY* *_TOKEN *_TOKENS TOKEN *_TOKEN_* *AUTHTOKEN*".split(
			" ",
		),
		..."*SECRET* *PASSWORD* *PASSWD* *PASSPHRASE* *_PASS *_PWD *CREDENTIAL* *_AUTH *_PAT *_JWT *_COOKIE *BEARER*".split(
			" ",
		),
	],
	"belong to the agent's host": [
		..."ANTHROPIC_* CLAUDE_* CLAUDECODE OPENAI_* CODEX_* GEMINI_* COPILOT_* CURSOR_* OPENROUTER_* OPENCODE_*".split(
			" ",
		),
		..."VSCODE_* ELECTRON_* MCP_*".split(" "),
	],
	"load code into every program": ["LD_PRELOAD", "LD_AUDIT", "DYLD_INSERT_LIBRARIES"],
} as const;

/** Paths and switches, not secrets, although their names look like one. */
const PASSED = [
	..."*_FILE *_PATH *_DIR *_HOME GOOGLE_APPLICATION_CREDENTIALS SSH_AUTH_SOCK SSH_ASKPASS GIT_ASKPASS SUDO_ASKPASS".split(
		" ",
	),
	..."CREDENTIALS_DIRECTORY GPG_KEY KEYMAP".split(" "),
];

/** What describes another terminal, or another process than the program (our own included): wrong in any case, and silently left out. */
const NOT_OURS = [
	"DIALTONE_*",
	..."PWD OLDPWD _ SHLVL PS1 PS2 PS4 PROMPT PROMPT_COMMAND RPROMPT".split(" "),
	..."TERM COLORTERM COLUMNS LINES TERMCAP TERM_PROGRAM* TERM_SESSION_ID TMUX TMUX_PANE STY WINDOW WINDOWID SSH_TTY GPG_TTY".split(
		" ",
	),
	..."VTE_VERSION KITTY_* ITERM_* LC_TERMINAL* WEZTERM_* ALACRITTY_* GHOSTTY_* KONSOLE_* WT_SESSION ZELLIJ*".split(" "),
	..."NODE_CHANNEL_* NODE_UNIQUE_ID LISTEN_FDS LISTEN_PID LISTEN_FDNAMES NOTIFY_SOCKET WATCHDOG_* INVOCATION_ID JOURNAL_STREAM".split(
		" ",
	),
	..."npm_lifecycle_* npm_package_* npm_command npm_execpath npm_node_execpath INIT_CWD".split(" "),
];

const TERMINAL = { TERM: "xterm-256color", COLORTERM: "truecolor" } as const;

/** For callers without a PATH (a service, `env -i`): what login(1) would give. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** What the options add to the lists: names, or patterns with a star. */
export interface EnvironmentRules {
	readonly inherit: Inherit;
	readonly pass?: readonly string[] | undefined;
	readonly withhold?: readonly string[] | undefined;
}

const matcher = (patterns: readonly string[]): RegExp =>
	new RegExp(`^(?:${patterns.map((one) => one.replace(/[^\w*]/g, "\\$&").replaceAll("*", ".*")).join("|")})$`, "i");

const isBasic = matcher(BASIC);
const isNotOurs = matcher(NOT_OURS);
const isPassed = matcher(PASSED);
const isCredential = matcher(WITHHELD["look like a credential"]);
const isOfTheHost = matcher([...WITHHELD["belong to the agent's host"], ...WITHHELD["load code into every program"]]);

/** The part of an environment that programs get, and the names of the rest that they might miss. */
export function inherited(
	env: Variables,
	{ inherit, pass = [], withhold = [] }: EnvironmentRules,
): {
	readonly env: Record<string, string>;
	readonly withheld: readonly string[];
} {
	const isAllowed = matcher(pass);
	const isForbidden = matcher(withhold);
	const passed: Record<string, string> = {};
	const withheld: string[] = [];
	for (const [name, value] of Object.entries(env)) {
		if (value === undefined || (isNotOurs.test(name) && !isAllowed.test(name))) continue;
		if (inherit === "none" && !isBasic.test(name) && !isAllowed.test(name)) continue;
		const safe = isAllowed.test(name) || !(isForbidden.test(name) || looksSecret(name, value));
		if (inherit === "all" || safe) passed[name] = value;
		else withheld.push(name);
	}
	return { env: passed, withheld: withheld.sort() };
}

function looksSecret(name: string, value: string): boolean {
	// A debugger's port, of the host that is being debugged.
	if (name === "NODE_OPTIONS") return value.includes("--inspect");
	return isOfTheHost.test(name) || (isCredential.test(name) && !isPassed.test(name));
}

export interface EnvironmentOptions extends EnvironmentRules {
	/** The caller's environment, never the daemon's. */
	readonly caller: Variables;
	/** Set for this session, also what would be withheld; an undefined value removes a variable. */
	readonly explicit?: Variables;
}

export function environment({ caller, explicit = {}, ...rules }: EnvironmentOptions): Record<string, string> {
	const all = { PATH: DEFAULT_PATH, ...inherited(caller, rules).env, ...TERMINAL, ...explicit };
	return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

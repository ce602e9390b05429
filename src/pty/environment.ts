// The environment of a program: allow-listed variables of the caller, then the
// terminal's, then those set by the call.
//
// An allow-list, never a deny-list: agent hosts pass us their whole environment,
// keys included (FACTS §5), and no list of key names is complete.

const ALLOWED = new Set([
	"PATH",
	"HOME",
	"SHELL",
	"USER",
	"LOGNAME",
	"LANG",
	"LANGUAGE",
	"TZ",
	"TMPDIR",
	"EDITOR",
	"VISUAL",
	"PAGER",
	"SSH_AUTH_SOCK",
	"DISPLAY",
	"WAYLAND_DISPLAY",
	"DBUS_SESSION_BUS_ADDRESS",
	"XDG_RUNTIME_DIR",
	"XDG_CONFIG_HOME",
	"XDG_CONFIG_DIRS",
	"XDG_DATA_HOME",
	"XDG_DATA_DIRS",
	"XDG_CACHE_HOME",
	"XDG_STATE_HOME",
	"VIRTUAL_ENV",
	"CONDA_PREFIX",
	"CONDA_DEFAULT_ENV",
	"PYENV_ROOT",
	"NVM_DIR",
	"NVM_BIN",
	"VOLTA_HOME",
	"PNPM_HOME",
	"BUN_INSTALL",
	"DENO_DIR",
	"JAVA_HOME",
	"GOPATH",
	"GOROOT",
	"CARGO_HOME",
	"RUSTUP_HOME",
	"GEM_HOME",
	"RBENV_ROOT",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"NODE_EXTRA_CA_CERTS",
]);
const ALLOWED_PREFIXES = ["LC_"];

const TERMINAL = { TERM: "xterm-256color", COLORTERM: "truecolor" } as const;

/** For callers without a PATH (a service, `env -i`): what login(1) would give. */
const DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

type Variables = Readonly<Record<string, string | undefined>>;

/** The part of an environment that programs get: all that a client sends of its own. */
export function passedOn(env: Variables, pass: readonly string[] = []): Record<string, string> {
	const passed: Record<string, string> = {};
	for (const [name, value] of Object.entries(env)) {
		const allowed =
			ALLOWED.has(name) || pass.includes(name) || ALLOWED_PREFIXES.some((prefix) => name.startsWith(prefix));
		if (allowed && value !== undefined) passed[name] = value;
	}
	return passed;
}

export interface EnvironmentOptions {
	/** The caller's environment, never the daemon's. */
	readonly caller: Variables;
	/** Additional names allowed by the configuration. */
	readonly pass?: readonly string[];
	/** Set for this session; an undefined value removes a variable. */
	readonly explicit?: Variables;
}

export function environment({ caller, pass = [], explicit = {} }: EnvironmentOptions): Record<string, string> {
	const all = { PATH: DEFAULT_PATH, ...passedOn(caller, pass), ...TERMINAL, ...explicit };
	return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

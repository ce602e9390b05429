// The environment of a confined program: without what leads out of the sandbox.

/** Where the proxy's forwarder listens, in the sandbox's own network. */
export const PROXY_PORT = 3128;

/** As in holder/sandbox/inner.c: under their own names, variables like LD_PRELOAD would act on bwrap, outside. */
const PREFIX = "DIALTONE:";

/** Sockets, agents and displays outside. */
const LEADS_OUT = new Set([
	..."SSH_AUTH_SOCK SSH_AGENT_PID SSH_CONNECTION SSH_CLIENT SSH_TTY GPG_AGENT_INFO GNOME_KEYRING_CONTROL".split(" "),
	..."DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DBUS_STARTER_ADDRESS SESSION_MANAGER XDG_RUNTIME_DIR".split(" "),
	..."DISPLAY XAUTHORITY ICEAUTHORITY WAYLAND_DISPLAY WAYLAND_SOCKET PULSE_SERVER PIPEWIRE_REMOTE".split(" "),
	..."DOCKER_HOST DOCKER_CONTEXT CONTAINER_HOST KUBECONFIG KRB5CCNAME TMUX TMUX_PANE STY NVIM NVIM_LISTEN_ADDRESS".split(
		" ",
	),
]);

const PROXY = `http://127.0.0.1:${PROXY_PORT}`;
const PROXIED = {
	...Object.fromEntries(
		["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].flatMap((name) => [
			[name, PROXY],
			[name.toLowerCase(), PROXY],
		]),
	),
	NO_PROXY: "localhost,127.0.0.1,::1",
	no_proxy: "localhost,127.0.0.1,::1",
};

/** As the sandbox's outer half gets it: each name with a prefix. */
export function confinedEnvironment(
	env: Readonly<Record<string, string>>,
	{ proxied }: { proxied: boolean },
): Record<string, string> {
	const kept = Object.entries(env).filter(([name]) => !LEADS_OUT.has(name) && !name.startsWith("DIALTONE_"));
	const all = { ...Object.fromEntries(kept), TMPDIR: "/tmp", ...(proxied ? PROXIED : {}) };
	return Object.fromEntries(Object.entries(all).map(([name, value]) => [PREFIX + name, value]));
}

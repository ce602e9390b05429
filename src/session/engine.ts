// Everything that lives as long as the daemon: registry, events, options.
export interface Engine {
	readonly placeholder: true;
}

// The few globals that every JavaScript host has and the bare language lacks.
// The pure layers (protocol, terminal) compile without node and dom types, so
// that they cannot use a process, a clock or a file by accident.
// Elsewhere node's own declarations merge with these.

interface TextDecoder {
	readonly encoding: string;
	decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}
interface TextEncoder {
	encode(input?: string): Uint8Array<ArrayBuffer>;
}
declare var TextDecoder: {
	new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder;
};
declare var TextEncoder: { new (): TextEncoder };

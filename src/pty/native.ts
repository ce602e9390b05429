// What node has no function for, from native/native.c. Where that could not be built or
// loaded the functions do nothing: the checked directory still keeps other users out.

import type { Socket } from "node:net";
import { join } from "node:path";

interface Native {
	/** -1 where the system does not tell. */
	peerUid(fd: number): number;
	liftLimits(): void;
}

let loaded: Native | null | undefined;

/** Loaded on first use: 0.4 ms. A process that looks at the socket's other end for us would cost 5 ms. */
function native(): Native | null {
	if (loaded !== undefined) return loaded;
	try {
		const module = { exports: {} as Native };
		process.dlopen(module, join(import.meta.dirname, "../../build/dialtone-native.node"));
		loaded = module.exports;
	} catch {
		loaded = null;
	}
	return loaded;
}

/** The user at the other end, if it is not this one; null where it is, or where that cannot be found out. */
export function foreignPeer(socket: Socket): number | null {
	const { fd = -1 } = (socket as unknown as { _handle?: { fd?: number } })._handle ?? {};
	const uid = fd < 0 ? -1 : (native()?.peerUid(fd) ?? -1);
	return uid < 0 || uid === process.getuid?.() ? null : uid;
}

/** Raises what limits this process to what it may be raised to: its starter's limits are not its own. */
export function liftLimits(): void {
	native()?.liftLimits();
}

// What node has no function for, from native/native.c. Where that could not be built or
// loaded the functions do nothing: the checked directory still keeps other users out.

import type { Socket } from "node:net";
import { join } from "node:path";

interface Native {
	/** -1 where the system does not tell. */
	peerUid(fd: number): number;
	/** -1 likewise. Absent in a build of an older version. */
	peerPid?(fd: number): number;
	/** Whether the process that connected has not ended: 1, 0, or -1 where the kernel cannot tell it from another of its number. */
	peerAlive?(fd: number): number;
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
	const fd = descriptorOf(socket);
	const uid = fd < 0 ? -1 : (native()?.peerUid(fd) ?? -1);
	return uid < 0 || uid === process.getuid?.() ? null : uid;
}

/** The process that listens at the other end; 0 where that cannot be found out. */
export function listeningPid(socket: Socket): number {
	const fd = descriptorOf(socket);
	return fd < 0 ? 0 : Math.max(native()?.peerPid?.(fd) ?? 0, 0);
}

/** The process that connected; 0: one that has no number here; null where that cannot be found out. */
export function connectedPid(socket: Socket): number | null {
	const fd = descriptorOf(socket);
	const pid = fd < 0 ? -1 : (native()?.peerPid?.(fd) ?? -1);
	return pid < 0 ? null : pid;
}

/** Whether the process that connected still lives, and its number is still its own; true where that cannot be found out. */
export function isPeerAlive(socket: Socket): boolean {
	const fd = descriptorOf(socket);
	return fd >= 0 && native()?.peerAlive?.(fd) !== 0;
}

const descriptorOf = (socket: Socket): number => (socket as unknown as { _handle?: { fd?: number } })._handle?.fd ?? -1;

/** Raises what limits this process to what it may be raised to: its starter's limits are not its own. */
export function liftLimits(): void {
	native()?.liftLimits();
}

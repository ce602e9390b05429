// How long something takes by the processor, for bounds that must not depend on what else the machine does.

/** Milliseconds of processor time that this process spends in `act`. */
export function processorMs(act: () => void): number {
	const before = process.cpuUsage();
	act();
	const { user, system } = process.cpuUsage(before);
	return (user + system) / 1000;
}

// Aligned columns: as wide as their widest cell, except the last.

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
	const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)));
	const line = (row: readonly string[]) =>
		row
			.map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column]!)))
			.join("  ")
			.trimEnd();
	return `${[head, ...rows].map(line).join("\n")}\n`;
}

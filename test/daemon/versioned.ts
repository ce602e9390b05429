import { cpSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** The same program under another version, in a directory for the caller to remove. */
export function versioned(version: string): string {
	const directory = mkdtempSync(join(tmpdir(), "dt-version-"));
	cpSync(join(root, "dist"), join(directory, "dist"), { recursive: true });
	for (const name of ["node_modules", "build", "shell"]) symlinkSync(join(root, name), join(directory, name));
	const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
	writeFileSync(join(directory, "package.json"), JSON.stringify({ ...manifest, version }));
	return directory;
}

// Everything on disk below a directory, to be searched for what must not be there.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, inflateSync } from "node:zlib";

/** Every file, also what is compressed in it. */
export function* filesBelow(directory: string): Generator<[string, string]> {
	for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
		if (!entry.isFile()) continue;
		const path = join(entry.parentPath, entry.name);
		const bytes = contentOf(path);
		if (bytes === null) continue;
		yield [path.slice(directory.length), bytes.toString("latin1")];
		for (const inflate of [gunzipSync, inflateSync])
			try {
				yield [`${path.slice(directory.length)} inflated`, inflate(bytes).toString("latin1")];
			} catch {
				// It is not compressed.
			}
	}
}

/** Null: it was gone meanwhile, as the file is that takes another's place. */
function contentOf(path: string): Buffer | null {
	try {
		return readFileSync(path);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
		throw error;
	}
}

/** What is to be masked, as the launch block and SECRETS carry it: a length (u16) and so many bytes, one after the other. */
export function maskRecords(spellings: readonly string[]): Uint8Array {
	const records = spellings.map((spelling) => {
		const bytes = Buffer.from(spelling);
		const record = Buffer.alloc(2 + bytes.length);
		record.writeUInt16LE(bytes.length);
		record.set(bytes, 2);
		return record;
	});
	return Buffer.concat(records);
}

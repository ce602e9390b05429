import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FLEET_ROLES, permissionsOf } from "./permissions.ts";

const document = readFileSync(join(import.meta.dirname, "../../docs/fleet.md"), "utf8");

test.each(FLEET_ROLES)("docs/fleet.md lists what the role %s may, beside JetStream's own subjects", (role) => {
	const owner = role === "host" || role === "admin" ? null : "OWNER";
	const { publish, subscribe } = permissionsOf({ role, owner, host: role === "host" ? "HOST" : null }, "KEY");
	const row = document.split("\n").find((line) => line.startsWith(`| \`${role}\``) && line.includes("_INBOX."));
	const listed = (cell: string | undefined) => cell?.match(/(?<=`)[^` ]+(?=`)/g);
	const [, , published, subscribed] = row?.split("|") ?? [];
	expect(listed(published)).toEqual(publish.filter((subject) => !subject.startsWith("$JS.")));
	expect(listed(subscribed)).toEqual(subscribe);
});

import { describe, expect, test } from "vitest";
import { type AccessRequest, admit, hostsOf } from "./guard.ts";

const record = { id: "1", name: "x", hash: "", readOnly: false, createdAt: 0 };
const policy = {
	hosts: hostsOf(17492, { ipv6: true }),
	verify: (token: string) => (token === "dt_good" ? record : null),
};
const request = (over: Partial<AccessRequest>): AccessRequest => ({
	path: "/v1/tools",
	host: "127.0.0.1:17492",
	origin: undefined,
	authorization: "Bearer dt_good",
	protocols: undefined,
	...over,
});

describe("the policy", () => {
	test.each([
		["no token", { authorization: undefined }, 401],
		["a wrong token", { authorization: "Bearer dt_bad" }, 401],
		["another scheme", { authorization: "Basic dt_good" }, 401],
		["a rebound name", { host: "evil.example:17492" }, 403],
		["our name on another port", { host: "127.0.0.1:80" }, 403],
		["a name that only begins like ours", { host: "localhost:17492.evil.example" }, 403],
		["no Host", { host: undefined }, 403],
		["a page of another site", { origin: "https://evil.example" }, 403],
		["a page of another port", { origin: "http://localhost:3000" }, 403],
		["a sandboxed frame", { origin: "null" }, 403],
		["a foreign page where no token is needed", { path: "/healthz", origin: "https://evil.example" }, 403],
	] as const)("%s is refused", (_, over, status) => {
		expect(admit(request(over), policy)).toMatchObject({ refused: status });
	});

	test("G13: where ::1 is not bound, a page of `localhost` or `[::1]` may be another user's", () => {
		const alone = { ...policy, hosts: hostsOf(17492, { ipv6: false }) };
		for (const name of ["localhost:17492", "[::1]:17492"]) {
			expect(admit(request({ host: name }), alone)).toMatchObject({ refused: 403 });
			expect(admit(request({ origin: `http://${name}` }), alone)).toMatchObject({ refused: 403 });
		}
		expect(admit(request({ origin: "http://127.0.0.1:17492" }), alone)).toMatchObject({ token: record });
	});

	test("our own page and programs without an Origin come in", () => {
		expect(admit(request({ origin: "http://localhost:17492" }), policy)).toMatchObject({ token: record });
		expect(admit(request({}), policy)).toMatchObject({ token: record });
	});

	test("a WebSocket may carry its token as a subprotocol, and the server answers with one of those offered", () => {
		const over = { authorization: undefined };
		expect(admit(request({ ...over, protocols: "dialtone, dt_good" }), policy)).toMatchObject({ protocol: "dialtone" });
		expect(admit(request({ ...over, protocols: "token.dt_good" }), policy)).toMatchObject({
			protocol: "token.dt_good",
		});
		expect(admit(request({ ...over, protocols: "dialtone" }), policy)).toMatchObject({ refused: 401 });
	});
});

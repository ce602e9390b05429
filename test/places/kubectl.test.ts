// `in: kubectl:…`: a program behind a real kubectl, as callers meet it. Only the API server and the pods are stand-ins
// (test/servers/kubernetes.ts): no cluster can be had here.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { Dialtone } from "../../src/index.ts";
import { until } from "../condition.ts";
import { needing } from "../programs.ts";
import { KUBECTL_NEEDS, type Kubernetes, startKubernetes } from "../servers/kubernetes.ts";

const patient = { timeoutMs: 60_000 } as const;
const POD = "kubectl:pod-0";
const BASH = ["/bin/bash", "--norc", "--noprofile"];

describe("issue 15: a program in a pod, by a real kubectl", needing(...KUBECTL_NEEDS), () => {
	let kubernetes: Kubernetes;
	const before = { ...process.env };
	const opened: Dialtone[] = [];
	beforeAll(async () => {
		kubernetes = await startKubernetes();
		Object.assign(process.env, kubernetes.env);
	});
	afterAll(async () => {
		for (const name of Object.keys(kubernetes.env)) {
			if (before[name] === undefined) delete process.env[name];
			else process.env[name] = before[name];
		}
		await kubernetes[Symbol.asyncDispose]();
	});
	const open = async () => {
		const dialtone = await Dialtone.open({ owner: "place" });
		opened.push(dialtone);
		return dialtone;
	};
	afterEach(async () => {
		for (const dialtone of opened.splice(0)) await dialtone[Symbol.asyncDispose]();
	});

	test("gets its arguments, directory and variables as they are, and nothing else of ours", async () => {
		process.env.OURS = "here";
		const dialtone = await open();
		const argv = ["sh", "-c", 'printf "%s|" "$PWD" "$A" "$OURS" "$@"; echo', "sh", "it's", "a\\ b", "$x !y", "", "--"];
		const given = await dialtone.start({ in: POD, argv, cwd: "/usr/lib", env: { A: "1 '2'" }, ...patient });
		delete process.env.OURS;
		expect(given.facts.text).toContain("/usr/lib|1 '2'||it's|a\\ b|$x !y||--|");
		expect(given.facts).toMatchObject({ status: "succeeded", in: POD, cwd: "/usr/lib" });
		const { facts } = await dialtone.start({ in: POD, command: "pwd | cat", ...patient });
		expect(facts.text.replaceAll("\n", "")).toContain(kubernetes.directory);
	});

	test("is found by namespace, pod and container", async () => {
		const dialtone = await open();
		const where = async (place: string) => {
			const { facts } = await dialtone.start({ in: place, command: "echo at=$WHERE", ...patient });
			return /at=(\S+)/.exec(facts.text)?.[1];
		};
		expect(await where("kubectl:pod-0")).toBe("default/pod-0:app");
		expect(await where("kubectl:pod-0:app")).toBe("default/pod-0:app");
		expect(await where("kubectl:ns/pod.1")).toBe("ns/pod.1:app");
		expect(await where("kubectl:ns/pod.1:side")).toBe("ns/pod.1:side");
	});

	test("ends with its own exit code, also by a signal and where there is no such program", async () => {
		const dialtone = await open();
		const end = async (what: { command: string } | { argv: string[]; cwd?: string }) =>
			(await dialtone.start({ in: POD, ...what, ...patient })).facts;
		expect(await end({ command: "exit 7" })).toMatchObject({ status: "failed", exit: { code: 7 } });
		expect(await end({ command: "kill -9 $$" })).toMatchObject({ status: "failed", exit: { code: 137 } });
		expect(await end({ command: "no-such-program" })).toMatchObject({ exit: { code: 127 } });
		expect(await end({ argv: ["no-such-program"], cwd: "/" })).toMatchObject({ exit: { code: 127 } });
		// There nothing ran that could say 127: what says so is kubectl.
		expect(await end({ argv: ["no-such-program"] })).toMatchObject({
			exit: { code: 1 },
			because: "exit code 1; kubectl itself may have failed",
			text: expect.stringContaining("executable file not found"),
		});
	});

	test("has the session's size, and its new one; what is typed and Ctrl+C reach it", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ in: POD, argv: BASH, cols: 97, rows: 31, ...patient });
		const says = async (line: string) => (await shell.send({ text: line, submit: true, ...patient })).text;
		expect(await says("stty size")).toContain("31 97");
		await shell.resize({ cols: 133, rows: 41 });
		await until("the program there has the new size", async () => (await says("stty size")).includes("41 133"));
		const asleep = await shell.send({
			text: "echo go; sleep 600",
			submit: true,
			until: { pattern: "^go" },
			...patient,
		});
		expect(asleep.text).toContain("go");
		const back = await shell.send({ keys: ["ctrl+c"], ...patient });
		expect(back).toMatchObject({ activity: "waiting", waitingFor: "line", certainty: "likely" });
		expect(await says("echo ended by $?")).toContain("ended by 130");
		expect(await says("trap 'echo caught' INT; echo set")).toContain("set");
		expect((await shell.send({ keys: ["ctrl+c"], ...patient })).text).toContain("caught");
		expect(await shell.send({ text: "exit 3", submit: true, ...patient })).toMatchObject({ exit: { code: 3 } });
	});

	test("is told whose turn it is as likely, never as certain", async () => {
		const dialtone = await open();
		const shell = await dialtone.start({ in: POD, ...patient });
		const turn = { activity: "waiting", waitingFor: "line", certainty: "likely" };
		expect(shell.facts).toMatchObject({ name: "kubectl", notices: [`runs in ${POD}`], ...turn });
		const send = (text: string, timeoutMs: number = patient.timeoutMs) => shell.send({ text, submit: true, timeoutMs });
		expect(await send("read -p 'name? ' n")).toMatchObject(turn);
		expect(await send("ann")).toMatchObject(turn);
		expect(await send("sleep 2", 1500)).toMatchObject({ returned: "timeout", activity: "listening" });
		expect(await shell.wait(patient)).toMatchObject(turn);
		expect(await send("printf 'working... '; sleep 1.7; echo", 1200)).toMatchObject({ returned: "timeout" });
		expect(await shell.wait(patient)).toMatchObject(turn);
		expect(await send("python3 -q")).toMatchObject({ ...turn, text: expect.stringContaining(">>>") });
		expect(await send("6*7")).toMatchObject({ ...turn, text: expect.stringContaining("42") });
		expect(await send("import time; time.sleep(2)", 1500)).toMatchObject({ returned: "timeout" });
		expect(await shell.wait(patient)).toMatchObject(turn);
		expect(await send("exit()")).toMatchObject(turn);
		expect(await send("cat", 1500)).toMatchObject({ returned: "timeout", activity: "listening", certainty: "likely" });
		expect((await send("to cat", 1500)).text).toContain("to cat");
		expect(await shell.send({ keys: ["ctrl+d"], ...patient })).toMatchObject(turn);
		const secret = { activity: "waiting", waitingFor: "secret", certainty: "likely" };
		expect(await send("read -s -p 'Password: ' p; echo")).toMatchObject(secret);
		const answered = await shell.send({ text: "hunter2", submit: true, ...patient });
		expect(answered).toMatchObject(turn);
		expect(answered.text).not.toContain("hunter2");
	});

	test("is not told as waiting by the prompt before, where what is typed takes longer to it than a prompt has to stand", async () => {
		await using far = await startKubernetes({ delayMs: 300 });
		Object.assign(process.env, far.env);
		const dialtone = await open();
		const shell = await dialtone.start({ in: POD, argv: BASH, ...patient });
		Object.assign(process.env, kubernetes.env);
		for (const word of ["one", "two", "three"]) {
			const { text, activity } = await shell.send({ text: `echo said $((1)) ${word}`, submit: true, ...patient });
			expect([activity, text]).toEqual(["waiting", expect.stringContaining(`said 1 ${word}`)]);
		}
		await shell.close({ force: true });
	});

	test("is told in kubectl's words where there is no such pod, container or server", async () => {
		const dialtone = await open();
		const refusal = async (place: string) => {
			const { facts } = await dialtone.start({ in: place, ...patient });
			expect(facts).toMatchObject({ exit: { code: 1 }, because: "exit code 1; kubectl itself may have failed" });
			return facts.text;
		};
		expect(await refusal("kubectl:gone")).toContain('(NotFound): pods "gone" not found');
		expect(await refusal("kubectl:pod-0:none")).toContain("container none is not valid for pod pod-0");
	});

	test.each(["end", "reset"] as const)(
		"does not claim to have succeeded where its connection is lost (%s)",
		async (how) => {
			const dialtone = await open();
			const shell = await dialtone.start({
				in: POD,
				command: "echo started; sleep 600",
				until: { text: "started" },
				...patient,
			});
			kubernetes.lose(how);
			const end = await shell.wait(patient);
			// Over WebSockets kubectl says so, over SPDY it is silent: then we say what its 0 may mean.
			expect(end.because).toMatch(
				kubernetes.protocols.at(-1) === "websocket"
					? /^exit code 1; kubectl itself may have failed$/
					: /^exit code 0; kubectl before 1.31 says so of a lost connection, too$/,
			);
		},
	);
});

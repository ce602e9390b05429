// A person with the page open, as far as HTTP is concerned: their cookie, and the live list.

import type { PersonSession } from "../../src/protocol/person-session.ts";
import { until } from "../condition.ts";

interface ListMessage {
	readonly full: boolean;
	readonly now: number;
	readonly sessions: readonly PersonSession[];
	readonly removed: readonly string[];
}

/** Where they log in. */
export interface PersonServer {
	readonly url: string;
	cli(...args: string[]): Promise<{ readonly out: string }>;
}

export class Person {
	readonly #server: PersonServer;
	readonly cookie: string;

	private constructor(server: PersonServer, cookie: string) {
		this.#server = server;
		this.cookie = cookie;
	}

	/** With a link of `dialtone web`. */
	static async logIn(server: PersonServer): Promise<Person> {
		const { out } = await server.cli("web", "--json");
		return Person.open(server, JSON.parse(out).link);
	}

	/** With any link. */
	static async open(server: PersonServer, link: string): Promise<Person> {
		const answer = await fetch(link);
		if (!answer.ok) throw new Error(`${link} answers ${answer.status}`);
		return new Person(server, answer.headers.get("set-cookie")!.split(";")[0]!);
	}

	get(path: string, init: RequestInit = {}): Promise<Response> {
		const headers = { cookie: this.cookie, origin: this.#server.url, ...init.headers };
		return fetch(`${this.#server.url}${path}`, { ...init, headers });
	}

	post(path: string, body: object = {}): Promise<Response> {
		const headers = { "content-type": "application/json" };
		return this.get(path, { method: "POST", headers, body: JSON.stringify(body) });
	}

	/** A tool's facts; it must not be refused. */
	async call(tool: string, input: object): Promise<{ session: string }> {
		const answer = await this.post(`/v1/tools/${tool}`, input);
		if (!answer.ok) throw new Error(await answer.text());
		return (await answer.json()) as { session: string };
	}

	async watch(): Promise<LiveList> {
		const stop = new AbortController();
		return new LiveList(await this.get("/v1/watch", { signal: stop.signal }), stop);
	}
}

/** The list as the page keeps it, and every message that came. */
export class LiveList implements AsyncDisposable {
	readonly messages: ListMessage[] = [];
	readonly rows = new Map<string, PersonSession>();
	readonly status: number;
	readonly #stop: AbortController;
	readonly #reading: Promise<void>;

	constructor(answer: Response, stop: AbortController) {
		this.status = answer.status;
		this.#stop = stop;
		this.#reading = this.#read(answer).catch(() => {}); // aborted
	}

	async #read(answer: Response): Promise<void> {
		let text = "";
		for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
			text += piece;
			const frames = text.split("\n\n");
			text = frames.pop()!;
			for (const frame of frames) {
				const [, event, data] = /^event: (\w+)\nid: \d+\ndata: (.*)$/.exec(frame) ?? [];
				if (event === "sessions") this.#take(JSON.parse(data!) as ListMessage);
			}
		}
	}

	#take(message: ListMessage): void {
		this.messages.push(message);
		if (message.full) this.rows.clear();
		for (const row of message.sessions) this.rows.set(row.session, row);
		for (const id of message.removed) this.rows.delete(id);
	}

	/** The row of this name, once it is so. */
	async row(name: string, isSo: (row: PersonSession) => boolean = () => true): Promise<PersonSession> {
		const find = () => [...this.rows.values()].find((row) => row.name === name && isSo(row));
		try {
			return await until(`${name} is so`, find);
		} catch (cause) {
			const rows = [...this.rows.values()].map((row) => [row.name, row.state, row.because, row.lastLine]);
			throw new Error(`${name} is not so in ${JSON.stringify(rows)}`, { cause });
		}
	}

	async [Symbol.asyncDispose](): Promise<void> {
		this.#stop.abort();
		await this.#reading;
	}
}

// Plays one conversation one way, and tells what it took and whether the task was achieved.

import { type Agent, agents, type Exchange, plain, tokens, type Way } from "./agents.ts";
import type { Conversation, Turn } from "./conversation.ts";
import { Scene } from "./scene.ts";

export interface Played {
	readonly exchanges: readonly Exchange[];
	/** How many turns the conversation has: the fewest calls there can be. */
	readonly turns: number;
	readonly calls: number;
	readonly written: number;
	readonly read: number;
	readonly tokens: number;
	/** Tokens of the tools' declarations and instructions, once a conversation; not in the others. */
	readonly declared: number;
	readonly ms: number;
	readonly achieved: boolean;
	/** Where it broke off: the turn, counted from 1, and what was read instead. */
	readonly stuck: { readonly turn: number; readonly read: string } | null;
}

/** How often an agent looks again before it gives up. */
const MOST_LOOKS = 8;

export async function play(conversation: Conversation, way: Way): Promise<Played> {
	await using scene = new Scene();
	const turns = await conversation.turns(scene);
	await using agent = await agents[way](scene);
	const exchanges: Exchange[] = [];
	const began = performance.now();
	let stuck: Played["stuck"] = null;
	for (const [at, turn] of turns.entries()) {
		if (await takeTurn(agent, turn, exchanges)) continue;
		stuck = { turn: at + 1, read: exchanges.at(-1)?.read ?? "" };
		break;
	}
	const ms = performance.now() - began;
	const sum = (of: (exchange: Exchange) => string) => exchanges.reduce((all, it) => all + tokens(of(it)), 0);
	const [written, read] = [sum(({ wrote }) => wrote), sum(({ read }) => read)];
	return {
		exchanges,
		turns: turns.length,
		calls: exchanges.length,
		written,
		read,
		tokens: written + read,
		declared: tokens(agent.declared),
		ms,
		achieved: stuck === null && isAchieved(conversation, scene, exchanges),
		stuck,
	};
}

function isAchieved({ achieved }: Conversation, scene: Scene, exchanges: readonly Exchange[]): boolean {
	try {
		return achieved(scene, exchanges.map(({ read }) => plain(read)).join("\n"));
	} catch {
		return false; // a file that was to be written is not there
	}
}

/** Whether the agent has seen in the end what it has to see. */
async function takeTurn(agent: Agent, turn: Turn, exchanges: Exchange[]): Promise<boolean> {
	let exchange: Exchange | null = await agent.take(turn);
	for (let looks = 0; exchange !== null && looks < MOST_LOOKS; looks++) {
		exchanges.push(exchange);
		if (agent.sees(turn, exchange)) return true;
		exchange = await agent.again(turn);
	}
	return false;
}

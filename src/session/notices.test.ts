import { expect, test } from "vitest";
import { NoticeBoard } from "./notices.ts";

test("T1: a command that is being stopped is told as stopped once it has ended, to each caller once", () => {
	const board = new NoticeBoard();
	let isOver = false;
	board.commandStopping(() => isOver);
	expect(board.tell("early")).toBeNull();
	isOver = true;
	expect(board.tell("early")).toMatchObject({ stoppedCommands: 1 });
	expect(board.tell("early")).toBeNull();
	expect(board.tell("late")).toMatchObject({ stoppedCommands: 1 });
});

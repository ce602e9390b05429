import { expect, test } from "vitest";
import { NoticeBoard } from "./notices.ts";

test("T1: a command that is being stopped is told as stopped once it has ended, to each caller once", () => {
	const board = new NoticeBoard();
	let isOver = false;
	board.commandStopping(() => isOver);
	const told = { tellsEnds: true };
	expect(board.takeFor("early", told)).toBeNull();
	isOver = true;
	expect(board.takeFor("early", told)).toMatchObject({ stoppedCommands: 1 });
	expect(board.takeFor("early", told)).toBeNull();
	expect(board.takeFor("late", told)).toMatchObject({ stoppedCommands: 1 });
});

test("T1: an answer that still says `working` keeps the stop for the one that tells the end", () => {
	const board = new NoticeBoard();
	board.commandStopping(() => true);
	board.take({ event: "input_dropped", bytes: 3 });
	expect(board.takeFor("a", { tellsEnds: false })).toMatchObject({ droppedInput: 3, stoppedCommands: 0 });
	expect(board.takeFor("a", { tellsEnds: true })).toMatchObject({ droppedInput: 0, stoppedCommands: 1 });
	expect(board.takeFor("a", { tellsEnds: true })).toBeNull();
});

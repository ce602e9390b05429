// How long hosts let a call take. Codex ends a call after 300 s regardless of progress,
// others after 60 s without any (progress.ts). So an answer is given before that, however long
// a wait was asked for; what is waited for goes on, and the answer says so.

/** With a margin for the way back. */
export const ANSWER_WITHIN_MS = 280_000;

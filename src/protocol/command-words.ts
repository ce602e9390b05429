// The words of a command line: as a POSIX shell reads them back, and as flags are called.

const PLAIN = /^[\w@%+=:,./-]+$/;

export const inShellQuotes = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

export const shellWord = (word: string): string => (PLAIN.test(word) ? word : inShellQuotes(word));

export const shellWords = (words: readonly string[]): string => words.map(shellWord).join(" ");

/** A field's name as that of a flag: `maxTokens` is `max-tokens`. */
export const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

import { userInfo } from "node:os";

/** The name of the user whose process this is: how agents are told of a person. */
export function userName(): string {
	try {
		return userInfo().username;
	} catch {
		return "a person"; // this user has no entry
	}
}

// Why a program cannot be confined; nothing was started then.

export type SandboxProblem = "no_bwrap" | "no_namespaces" | "no_helper" | "no_workspace" | "no_proxy" | "bad_bind";

export class SandboxError extends Error {
	override readonly name = "SandboxError";
	readonly problem: SandboxProblem;

	constructor(problem: SandboxProblem, message: string, options?: ErrorOptions) {
		super(message, options);
		this.problem = problem;
	}
}

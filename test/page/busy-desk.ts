// Terminals as a person with some agents would have them: for pictures and for tests of how the page looks.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RealServer } from "../http/real-server.ts";

const CODE = `"""Prices and the cart of the shop."""
from dataclasses import dataclass, field
from decimal import Decimal


@dataclass(frozen=True)
class Item:
    name: str
    price: Decimal
    count: int = 1

    @property
    def total(self) -> Decimal:
        return self.price * self.count


@dataclass
class Cart:
    items: list[Item] = field(default_factory=list)
    discount: Decimal = Decimal("0")

    def add(self, item: Item) -> None:
        if item.count < 1:
            raise ValueError(f"{item.name}: nothing to add")
        self.items.append(item)

    def total(self) -> Decimal:
        full = sum((item.total for item in self.items), Decimal("0"))
        return full * (1 - self.discount)
`;
/** In a process namespace of its own: a picture must not show what else the machine runs. */
const MONITOR = `
for name in "postgres: checkpointer" "postgres: walwriter" "redis-server *:6379" "nginx: worker process" "node api/server.js" "python3 worker.py"; do
	bash -c 'exec -a "$0" tail -f /dev/null' "$name" &
done
bash -c 'exec -a "node build.js --watch" tail -f /dev/null' &
exec htop --delay=20`;
const TESTS = `
printf '\\033[1m============================= test session starts ==============================\\033[0m\\n'
printf 'collected 214 items\\n\\n'
for file in cart checkout discounts invoices mail orders payments; do
	printf 'tests/test_%-14s \\033[32m%s\\033[0m\\n' "$file.py" '..............................'
done
printf 'tests/test_%-14s \\033[32m....\\033[31mF\\033[0m\\n\\n' stock.py
printf '\\033[31mFAILED\\033[0m tests/test_stock.py::test_reserve - AssertionError: assert 3 == 2\\n'
printf '\\033[31m=================== 1 failed, 213 passed in 8.31s ===================\\033[0m\\n'
exit 1`;
const MIGRATION = `
for i in $(seq 1 400); do
	printf '\\033[2m%s\\033[0m  \\033[36mmigrate\\033[0m  orders: %d of 400 batches, %d rows\\n' "$(date +%T)" $i $((i * 2500))
	read -t 1 <> <(:)
done`;
const DEPLOY = `
echo 'Deploying shop 2.4.0 to production'
echo 'Build: ok   Tests: ok   Image: shop:2.4.0'
read -rsp 'Passphrase for the signing key: '`;

/** Starts them all, in a directory called `shop`; returns when each is as it stays, with the function that removes the directory. */
export async function furnish(server: RealServer): Promise<() => void> {
	const parent = mkdtempSync(join(tmpdir(), "dt-desk-"));
	const project = join(parent, "shop");
	mkdirSync(project);
	writeFileSync(join(project, "cart.py"), CODE);
	const scripts = { "run-tests": TESTS, monitor: MONITOR, migrate: MIGRATION, deploy: DEPLOY };
	for (const [name, script] of Object.entries(scripts))
		writeFileSync(join(project, name), `#!/bin/bash\n${script}\n`, { mode: 0o755 });
	writeFileSync(join(project, "index.html"), "<!doctype html><title>Shop</title>\n");
	execFileSync("git", ["init", "-q"], { cwd: project });
	const agent = async (tool: string, input: object) => {
		const answer = await server.post(`/v1/tools/${tool}`, input);
		if (!answer.ok) throw new Error(await answer.text());
	};
	const start = (name: string, argv: readonly string[]) =>
		agent("start", { name, argv, cwd: project, cols: 100, rows: 30, timeoutMs: 5000 });
	await start("tests", ["./run-tests"]);
	await start("python", ["python3", "-q"]);
	for (const text of [
		"from cart import Cart, Item",
		"from decimal import Decimal",
		"cart = Cart(discount=Decimal('0.1'))",
		"for name, price in [('tea', '4.50'), ('mug', '12.00'), ('kettle', '39.90')]:\n    cart.add(Item(name, Decimal(price)))\n",
		"[item.name for item in cart.items]",
		"cart.total()",
	])
		await agent("send", { session: "python", text, submit: true });
	await start("editor", [
		"vim",
		"-u",
		"NONE",
		"-c",
		"syntax on | set number ruler nomodeline | colorscheme desert | 28",
		"cart.py",
	]);
	await start("monitor", ["unshare", "-pf", "--mount-proc", "./monitor"]);
	await start("site", ["python3", "-u", "-m", "http.server", "8123", "--bind", "127.0.0.1"]);
	for (const path of ["/", "/cart.py", "/favicon.ico"]) await fetch(`http://127.0.0.1:8123${path}`);
	await start("migrate", ["./migrate", "orders"]);
	await start("deploy", ["./deploy", "production"]);
	return () => rmSync(parent, { recursive: true, force: true });
}

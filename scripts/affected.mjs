// Runs the tests that a change can affect: those of changed packages and of all packages that depend on them.
//   node scripts/affected.mjs [base commit, default HEAD] [arguments of vitest]
// Runs everything if a file outside of `packages/` has changed, other than a page.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

const [base = "HEAD", ...more] = process.argv.slice(2);
const git = (...argv) => execFileSync("git", argv, { encoding: "utf8" }).split("\n").filter(Boolean);
const changed = [...git("diff", "--name-only", base), ...git("ls-files", "--others", "--exclude-standard")];
const packages = readdirSync("packages").flatMap((group) =>
  readdirSync(`packages/${group}`).map((name) => {
    const folder = `packages/${group}/${name}`;
    const { name: id, dependencies = {} } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    return { folder, id, needs: Object.keys(dependencies) };
  }),
);

const affected = new Set(packages.filter(({ folder }) => changed.some((path) => path.startsWith(`${folder}/`))));
for (let before = -1; before < affected.size; ) {
  before = affected.size;
  const ids = new Set([...affected].map(({ id }) => id));
  for (const one of packages) if (one.needs.some((id) => ids.has(id))) affected.add(one);
}
const everything = changed.some((path) => !path.startsWith("packages/") && !path.endsWith(".md"));
const folders = [...affected].map(({ folder }) => `${folder}/test`).filter((folder) => existsSync(folder));
const chosen = everything ? [] : [...folders, "test/architecture.test.ts"];
process.stdout.write(`${everything ? "everything" : chosen.join(" ")}\n`);
const argv = ["vitest", "run", "--tags-filter=!slow", ...chosen, ...more];
process.exit(spawnSync("npx", argv, { stdio: "inherit" }).status ?? 1);

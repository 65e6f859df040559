// Runs the tests that a change can affect: those of changed packages, of all packages that depend on them, and of
// packages whose tests import one of them. Tests that drive the whole program in `test/` run with `npm test` only.
//   node scripts/affected.mjs [base commit, default HEAD] [--list | arguments of vitest]
// Runs everything if a file outside of `packages/` has changed, other than a page.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, readdirSync, readFileSync } from "node:fs";

const [first, ...rest] = process.argv.slice(2);
const hasBase = first !== undefined && !first.startsWith("-");
const base = hasBase ? first : "HEAD";
const more = hasBase || first === undefined ? rest : [first, ...rest];
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
const imports = [...affected].map(({ id }) => `from "${id}/`);
const testsImport = ({ folder }) =>
  globSync(`${folder}/test/**/*.{ts,tsx}`).some((file) => {
    const text = readFileSync(file, "utf8");
    return imports.some((one) => text.includes(one));
  });
const everything = changed.some((path) => !path.startsWith("packages/") && !path.endsWith(".md"));
const folders = packages.filter((one) => affected.has(one) || testsImport(one)).map(({ folder }) => `${folder}/test`);
const chosen = everything ? [] : [...folders.filter((folder) => existsSync(folder)), "test/architecture.test.ts"];
process.stdout.write(`${everything ? "everything" : chosen.join("\n")}\n`);
if (!more.includes("--list")) {
  const argv = ["vitest", "run", "--tags-filter=!slow", ...chosen, ...more];
  process.exitCode = spawnSync("npx", argv, { stdio: "inherit" }).status ?? 1;
}

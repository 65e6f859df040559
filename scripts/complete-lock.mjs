/**
 * Adds the lockfile entries of optional platform packages that the registry in use does not carry.
 * `npm ci` refuses a lockfile without them, on every platform; run this after each `npm install` that changes the tree.
 *
 *   node scripts/complete-lock.mjs [package-lock.json]
 */
import { readFileSync, writeFileSync } from "node:fs";

const file = process.argv[2] ?? new URL("../package-lock.json", import.meta.url);
const lock = JSON.parse(readFileSync(file, "utf8"));
const systems = ["android", "darwin", "freebsd", "linux", "netbsd", "openbsd", "openharmony", "sunos", "aix", "win32"];
const processors = ["arm64", "arm", "ia32", "loong64", "mips64el", "ppc64", "riscv64", "s390x", "x64", "wasm32"];

/** Platform packages are named `<scope>/<tool>-<os>-<cpu>[-<libc>]`. */
function platformOf(name) {
  const words = name.split("/").at(-1).split(/[-.]/);
  return {
    os: systems.filter((system) => words.includes(system)),
    cpu: processors.filter((processor) => words.includes(processor)),
    libc: words.includes("musl") ? ["musl"] : words.includes("gnu") ? ["glibc"] : [],
  };
}

let added = 0;
for (const entry of Object.values(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    const path = `node_modules/${name}`;
    if (lock.packages[path]) continue;
    const { os, cpu, libc } = platformOf(name);
    if (cpu.length === 0) continue;
    // A range may name another package: `npm:@scope/name@1.2.3`.
    const alias = /^npm:(.+)@([^@]+)$/.exec(range);
    lock.packages[path] = {
      ...(alias ? { name: alias[1] } : {}),
      version: (alias ? alias[2] : range).replace(/^[^\d]*/, ""),
      cpu,
      ...(entry.dev ? { dev: true } : {}),
      ...(libc.length > 0 ? { libc } : {}),
      optional: true,
      ...(os.length > 0 ? { os } : {}),
    };
    added += 1;
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`${added} platform entries added\n`);

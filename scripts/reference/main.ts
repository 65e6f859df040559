/** `npm run docs:reference`: writes docs/reference from the source. A test fails while the two differ. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readEntryPoints } from "./entries.ts";
import { referencePages } from "./pages.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(root, "docs", "reference");

const pages = referencePages(readEntryPoints(root));
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [file, text] of pages) writeFileSync(join(folder, file), text);
process.stdout.write(`${[...pages.keys()].map((file) => join("docs", "reference", file)).join("\n")}\n`);

/** Writes the table of `docs/drivers.md` from what the live tests saw last: node test/live/support/write-table.ts */
import { readFile, writeFile } from "node:fs/promises";
import { readSeen } from "./record.ts";
import { begin, between, liveNames, page, renderTable } from "./table.ts";

const text = await readFile(page, "utf8");
const table = renderTable(await Promise.all(liveNames.map(readSeen)));
await writeFile(
  page,
  text.replace(begin + between(text), () => `${begin}\n\n${table}\n\n`),
);

/** A project with an agent whose place on the plane a test can take. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { obedient } from "../helpers/project.ts";
import { waitUntil } from "../helpers/wait-until.ts";

export type PlaneNote = { url: string; authorization: string; pid: number };

const command = [process.execPath, fileURLToPath(new URL("../fixtures/bin/plane-agent.mjs", import.meta.url))];

export const withPlaneAgent = {
  ...obedient,
  ".aegis.yaml": `${obedient[".aegis.yaml"]}  remote: { harness: acp, options: { command: ${JSON.stringify(command)} } }\n`,
};

/** What the agent wrote down under this name. */
export async function readPlace(dir: string, name: string): Promise<PlaneNote> {
  let note: PlaneNote | null = null;
  await waitUntil(`the agent has written ${name} down`, async () => {
    const text = await readFile(join(dir, "planes", `${name}.json`), "utf8").catch(() => "");
    if (text !== "") note = JSON.parse(text) as PlaneNote;
    return note !== null;
  });
  if (note === null) throw new Error("unreachable: the wait ends with the note");
  return note;
}

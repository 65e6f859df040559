/** The table of attacks and necessities, in each level, as an ordinary user and as root. */
import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { attacks } from "./attack-table.ts";
import { diskFolder, reasonToSkip } from "./here.ts";

const skip = reasonToSkip(["git", "curl", "python3", "script"]);
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
const program = fileURLToPath(new URL("./attack-run.ts", import.meta.url));

type Mode = "workspace" | "strict" | "none";
type Outcome = { failed: unknown[]; open: string[]; datagrams: number; changed: string[]; left: string[] };

async function outcomeOf(mode: Mode, uid: number | null): Promise<Outcome> {
  const folder = await diskFolder(uid);
  const user = uid === null ? {} : { uid, gid: uid };
  const env = { PATH: process.env.PATH, HOME: folder };
  const { stdout } = await promisify(execFile)(process.execPath, [program, folder, mode], { env, ...user });
  return JSON.parse(stdout);
}

const blocked: Outcome = { failed: [], open: [], datagrams: 0, changed: [], left: [] };

test.skipIf(skip !== null)(
  `workspace: no attack succeeds, all work is done${skip === null ? "" : ` (${skip})`}`,
  { tags: "slow" },
  async () => {
    expect(await outcomeOf("workspace", null)).toEqual(blocked);
  },
);

test.skipIf(skip !== null)("strict: the same", { tags: "slow" }, async () => {
  expect(await outcomeOf("strict", null)).toEqual(blocked);
});

test.skipIf(skip !== null || !isRoot || !isReadableByAll())(
  "as an ordinary user: the same",
  { tags: "slow" },
  async () => {
    expect(await outcomeOf("workspace", nobody)).toEqual(blocked);
    expect(await outcomeOf("strict", nobody)).toEqual(blocked);
  },
);

test.skipIf(skip !== null || (isRoot && !isReadableByAll()))(
  "without a sandbox the attacks succeed",
  { tags: "slow" },
  async () => {
    // Never as root, whom they would really serve.
    const { open } = await outcomeOf("none", isRoot ? nobody : null);
    const world = { ports: {}, sockets: [], victim: 0 } as unknown as Parameters<typeof attacks>[0];
    const real = attacks(world).filter(({ failsAnyway }) => failsAnyway !== true);
    expect(real.map(({ title }) => title).filter((title) => !open.includes(title))).toEqual([]);
    expect(real.length).toBeGreaterThan(25);
  },
);

/** Another user can run the tests only from a checkout that it may read. */
function isReadableByAll(): boolean {
  const folders = program.split("/").slice(0, -1);
  return folders.every((_, index) => (statSync(folders.slice(0, index + 1).join("/") || "/").mode & 0o5) === 0o5);
}

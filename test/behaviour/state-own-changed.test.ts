/** State of one's own that was copied, replaced or made by an older version. */
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { newId } from "@aegis/contract/ids.ts";
import { Connection } from "@aegis/store-sqlite/connection.ts";
import { migrate } from "@aegis/store-sqlite/migrate.ts";
import { migrations } from "@aegis/store-sqlite/migrations/list.ts";
import { expect, it } from "vitest";
import { there, used } from "../helpers/projects/own-state.ts";
import { done } from "../helpers/projects/stranger.ts";

it("a project that was copied to another disk and deleted goes on after a clean stop", { tags: "slow" }, async () => {
  const at = await used();
  const place = join(dirname(at.root), "elsewhere");
  await cp(at.root, place, { recursive: true });
  await rm(at.root, { recursive: true });
  await mkdir(at.root);
  await there(at, place, async (run) => {
    expect(await run("ps")).toMatch(/^0 [\s\S]*first-one/);
  });
});

it("an older or edited database in the place of one's own is noticed after a clean stop", {
  tags: "slow",
}, async () => {
  const at = await used();
  const path = join(at.root, ".aegis/state/aegis.db");
  const older = await readFile(path);
  await done(at, "spawn", "dev", "--handle", "second-one");
  await done(at, "down");
  await writeFile(path, older);
  expect(await at.json("up")).toMatchObject({ error: { details: { reason: "changed" } } });
});

it("state of version 0.1 opens once it is adopted", { tags: "slow" }, async () => {
  const at = await used();
  const state = join(at.root, ".aegis/state");
  for (const name of ["owner.json", "daemon.log"]) await rm(join(state, name));
  await rm(join(at.env.HOME ?? "", ".aegis/projects"), { recursive: true });
  await rm(join(at.env.HOME ?? "", ".aegis/key"));
  await rm(join(state, "aegis.db"));
  const old = new Connection(join(state, "aegis.db"));
  old.exec("PRAGMA journal_mode = WAL");
  migrate(
    old,
    migrations.filter(({ version }) => version <= 10),
  );
  const columns = "id, handle, agent, harness, offline, title, state, depth, ask_policy, created_at";
  old.run(
    `INSERT INTO sessions (${columns}) VALUES (?, 'first-one', 'dev', 'scripted', 1, '', 'ready', 0, 'wait', 1)`,
    newId("ses", 1),
  );
  old.close();
  expect(await at.json("up")).toMatchObject({ error: { details: { reason: "unmarked" } } });
  expect(await done(at, "state", "adopt", "--yes")).toContain("first-one");
  expect(await done(at, "ps")).toContain("first-one");
});

// @module-tag slow
/** One daemon per database, also if its files are deleted. */
import { existsSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { isRunning } from "../helpers/pids.ts";
import { testProject } from "../helpers/project.ts";
import { done } from "../helpers/projects/stranger.ts";
import { waitUntil } from "../helpers/wait-until.ts";

it("deleting lock.db and daemon.json lets no second daemon in, and the first is found again", async () => {
  const at = await aegisProject();
  const { pid } = await at.json<{ pid: number }>("up");
  const state = join(at.root, ".aegis/state");
  const remove = async () => {
    for (const name of (await readdir(state)).filter((one) => /^(lock\.db|daemon\.json)/.test(one)))
      await rm(join(state, name));
  };
  await remove();
  const served = await at.aegis("serve");
  expect(served.code).toBe(1);
  expect(served.stderr).toMatch(/already runs for this project|is already running here/);
  await remove();
  expect(await at.json("up")).toMatchObject({ started: false, pid });
  expect(existsSync(join(state, "lock.db"))).toBe(true);
  expect(await done(at, "spawn", "dev", "--handle", "still-here")).toContain("still-here");
  expect((await at.json<{ pid: number }>("down")).pid).toBe(pid);
  expect(isRunning(pid)).toBe(false);
});

it("daemons that are started directly are refused too, and the marker comes back", async () => {
  const project = await testProject();
  const daemon = await project.start();
  const state = join(project.dir, ".aegis/state");
  for (const names of [
    ["lock.db", "daemon.json"],
    ["lock.db", "owner.json"],
  ]) {
    for (const name of names) await rm(join(state, name), { force: true });
    const { code, stderr } = await project.launch().exited;
    expect({ names, code }).toEqual({ names, code: 4 });
    expect(stderr).toContain("already runs");
  }
  await waitUntil("the marker is back", () => existsSync(join(state, "owner.json")));
  await daemon.kill();
  const next = await project.start();
  expect((await next.client.call("status")).pid).toBe(next.pid);
});

it("a daemon whose database is deleted ends, and no other one starts before", async () => {
  const project = await testProject();
  const daemon = await project.start();
  for (const name of ["lock.db", "aegis.db", "owner.json"]) await rm(join(project.dir, ".aegis/state", name));
  const second = project.launch();
  const first = await Promise.race([second.exited.then(({ code }) => code), daemon.exited.then(() => "it has ended")]);
  expect([4, "it has ended"]).toContain(first);
  expect((await daemon.exited).code).toBe(0);
  expect(daemon.output).toContain("its database was deleted or replaced");
});

it("a database that was deleted is created again, and what lies in its place is not used", async () => {
  const at = await aegisProject();
  await done(at, "spawn", "dev", "--handle", "old-one");
  const pid = await at.daemonPid();
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(at.root, `.aegis/state/aegis.db${suffix}`), { force: true });
  await waitUntil("the daemon ends", () => pid !== null && !isRunning(pid));
  expect(await done(at, "ps")).not.toContain("old-one");
});

/** `connect` of `aegis/client`: finds the daemon of a folder, or starts it. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "@aegis/client/index.ts";
import { expect, it } from "vitest";
import { aegisProject } from "../helpers/aegis.ts";
import { installPackage, runModule } from "../helpers/consumer.ts";

it("refuses while no daemon runs, and starts one when it is told to", async () => {
  const { root, env, daemonPid } = await aegisProject();
  await installPackage(root);
  const code = `import { connect, isAegisError } from "aegis/client";
const refusal = await connect().catch((error) => error);
const [first, second] = await Promise.all([connect("sub", { start: true }), connect(undefined, { start: true })]);
const { pid } = await first.call("status");
process.stdout.write(JSON.stringify([isAegisError(refusal) && refusal.code, pid, (await second.call("status")).pid]));
`;
  await mkdir(join(root, "sub"));
  const [code1, pid1, pid2] = JSON.parse(await runModule(root, code, env)) as [string, number, number];
  expect(code1).toBe("unavailable");
  expect(pid1).toBe(pid2);
  expect(await daemonPid()).toBe(pid1);
});

it("takes the daemon of the user that the environment names", async () => {
  const { root, env, aegis } = await aegisProject();
  expect((await aegis("up")).code).toBe(0);
  const client = await connect(root, { env });
  expect((await client.call("status")).project).toBe(root);
  await expect(connect(root, { env: { ...env, HOME: join(root, "elsewhere") } })).rejects.toMatchObject({
    code: "unavailable",
  });
});

it("says why a daemon cannot be started", async () => {
  const { root, env } = await aegisProject({ ".aegis.yaml": "default_agent: nobody\nagnets: {}\n" });
  await installPackage(root);
  const code = `import { connect } from "aegis/client";
await connect(undefined, { start: true }).catch(({ code, message }) => process.stdout.write(code + ": " + message));
`;
  const said = await runModule(root, code, env);
  expect(said).toMatch(/^unavailable: no daemon could be started for .*agnets/s);
  expect(said).toContain("agents");
});

it("stops waiting for a start when the signal aborts", async () => {
  const { root, env } = await aegisProject();
  await writeFile(join(root, "note.txt"), "");
  const reason = new Error("enough");
  const started = connect(root, { start: true, env, signal: AbortSignal.abort(reason) });
  await expect(started).rejects.toBe(reason);
});
